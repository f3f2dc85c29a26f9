// a step of a run --> fails at each of its statements and commits in turn --> is tried again: what it does is done once
import { expect, it } from 'vitest';
import { createAutomationLoop } from '../../src/features/automations/runner/execute-run.ts';
import { line, start, step, supply, wait, type Graph, type Supplies } from '../api/automations/graph.ts';
import { HOUR, MINUTE } from '../flow/mail.ts';
import { breakable } from '../rig/breakable.ts';
import { driver } from '../rig/database.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import { breakOff, live } from './broken-off.ts';

const DAY = 24 * HOUR;

interface Case {
  graph(has: Supplies): Graph;
  /** The event of the contact that begins a run of an automation which waits for it. */
  starts?: string;
  emails?: number;
  steps?: Record<string, string>;
  mustBeDone?(read: (path: string) => Promise<{ data?: unknown }>, has: Supplies, contact: string): Promise<void>;
}

const named = step('name', 'contact_update', { first_name: 'Ada' });
const isPaying = step('paying', 'condition', { type: 'rule', field: 'email', operator: 'contains', value: '@' });

const KINDS: Record<string, Case> = {
  email: {
    graph: ({ template }) =>
      line(start, step('mail', 'send_email', { template: { id: template, variables: { PRODUCT: 'Tea' } } })),
    emails: 1,
  },
  contact_update: {
    graph: () => line(start, named),
    starts: 'contact.updated',
    mustBeDone: async (read, _, contact) =>
      expect(await read(`/contacts/${contact}`)).toMatchObject({ first_name: 'Ada' }),
  },
  topic_update: {
    graph: ({ topic }) => line(start, step('news', 'topic_update', { topic_id: topic, subscription: 'opt_in' })),
    starts: 'contact.topic_changed',
    mustBeDone: async (read, _, contact) =>
      expect((await read(`/contacts/${contact}/topics`)).data).toMatchObject([{ subscription: 'opt_in' }]),
  },
  add_to_segment: {
    graph: ({ segment }) => line(start, step('add', 'add_to_segment', { segment_id: segment })),
    mustBeDone: async (read, { segment }, contact) => {
      const members = (await read(`/segments/${segment}/contacts?limit=100`)).data as { id: string }[];
      expect(members.filter(({ id }) => id === contact)).toHaveLength(1);
    },
  },
  delay: { graph: () => line(start, wait('day')) },
  condition: {
    graph: () => ({
      steps: [start, isPaying, named, step('no', 'contact_update', { first_name: 'Bob' })],
      connections: [
        { from: 'start', to: 'paying' },
        { from: 'paying', to: 'name', type: 'condition_met' },
        { from: 'paying', to: 'no', type: 'condition_not_met' },
      ],
    }),
    starts: 'contact.updated',
    steps: { no: 'skipped' },
    mustBeDone: async (read, _, contact) =>
      expect(await read(`/contacts/${contact}`)).toMatchObject({ first_name: 'Ada' }),
  },
};

// A fault is planted at every statement and after every commit.
const FAULTS = [
  { why: 'a defect of ours', code: undefined },
  { why: 'a lost connection', code: 'ECONNRESET' },
  // Which fault it was is read by the service. A database sees the same of both: a transaction that ended or one that was rolled back.
].filter(({ code }) => driver !== 'pg' || code !== undefined);

// A fault comes before its statement is sent, so that a server sees a transaction which is rolled back, whatever kind it is of: on
// PostgreSQL the kind that writes most stands for all, beside one that tells others of its change.
const HERE = driver === 'pg' ? ['email', 'topic_update'] : Object.keys(KINDS);
const CASES = HERE.flatMap((kind) => FAULTS.map((fault) => ({ kind, ...fault })));

it.each(CASES)(
  'an automation step survives $why at any statement of the kind $kind, also after a commit, and takes effect once',
  async (one) => {
    const { kind, code } = one;
    // Only the loop of this test carries runs, so that counting statements is exact.
    await using scene = await startScene({ roles: ['http'] });
    const has = await supply(scene);
    const { graph, starts, emails = 0, steps: expected = {}, mustBeDone } = KINDS[kind] as Case;
    const faults = breakable(scene.app.world, code, { isAnswerLost: true });
    const createLoop = () => createAutomationLoop(scene.app.world, () => undefined);
    const must = async (method: string, path: string, body?: object) => {
      const answer = await scene.api(method, path, { key: has.team.key, ...(body && { body }) });
      if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.text}`);
      return answer.body;
    };
    const read = (path: string) => must('GET', path);
    const { id: automation } = await must('POST', '/automations', { name: 'A', status: 'enabled', ...graph(has) });
    const listening = { ...start, config: { event_name: `rasket:${starts}` } };
    const listener =
      starts && (await must('POST', '/automations', { name: 'L', status: 'enabled', ...line(listening, wait('w')) }));
    let isReached = true;
    for (let n = 1; isReached; n++) {
      const { id: contact } = await must('POST', '/contacts', { email: `c${n}@one.example` });
      await must('POST', '/events/send', { event: 'order', contact_id: contact });
      const before = await counts(scene);
      isReached = await breakOff(scene, faults, n, createLoop);
      const [{ id }] = (await read(`/automations/${automation}/runs`))['data'];
      if (kind === 'delay') {
        const run = await read(`/automations/${automation}/runs/${id}`);
        expect([n, run['status'], run['steps'][1]]).toMatchObject([n, 'running', { key: 'day', status: 'waiting' }]);
        const { until } = run['steps'][1].output as { until: string };
        expect(await dueAt(scene, id)).toBe(Date.parse(until));
        // The wait began in the life that wrote it: the first, or the second.
        expect([DAY, DAY - 10 * MINUTE]).toContain(Date.parse(until) - scene.clock.now());
        scene.clock.advance(DAY);
        await live(createLoop());
      }
      const run = await read(`/automations/${automation}/runs/${id}`);
      const states = Object.fromEntries(
        (run['steps'] as { key: string; status: string }[]).map((s) => [s.key, s.status]),
      );
      const all = Object.fromEntries((graph(has).steps as { key: string }[]).map(({ key }) => [key, 'completed']));
      expect([n, run['status'], states]).toEqual([n, 'completed', { ...all, ...expected }]);
      expect((await scene.events(id)).map(({ type }) => type)).toEqual([
        'automation.run.started',
        'automation.run.completed',
      ]);
      if (listener) {
        const sql = 'select count(*) as n from automation_runs where automation_id = ? and contact_id = ?';
        const row = await scene.app.world.db.get<{ n: number }>(sql, [listener['id'], contact]);
        expect([n, Number(row?.n)]).toEqual([n, 1]);
      }
      const grown = (await counts(scene)).map((now, i) => now - (before[i] ?? 0));
      expect([n, grown]).toEqual([n, [emails, emails, emails, listener ? 2 : 1]]);
      await mustBeDone?.(read, has, contact);
      expect(n).toBeLessThan(100);
      if (!isReached) expect(n).toBeGreaterThan(15);
    }
  },
);

async function dueAt({ app: { world } }: Scene, run: string): Promise<number> {
  const row = await world.db.get<{ due_at: number }>('select due_at from automation_runs where id = ?', [run]);
  return Number(row?.due_at);
}

function counts({ app: { world } }: Scene): Promise<number[]> {
  const queries = [
    'select count(*) as n from emails',
    'select count(*) as n from deliveries',
    "select count(*) as n from events where type = 'email.queued'",
    "select coalesce(sum(used), 0) as n from usage_counters where kind = 'automation_run' and length(period) = 7",
  ];
  return Promise.all(queries.map(async (sql) => Number((await world.db.get<{ n: number }>(sql))?.n)));
}
