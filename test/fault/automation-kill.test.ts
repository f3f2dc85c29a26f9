// events of many contacts --> rasket serve (killed again and again while their runs go on) --> sink
import { expect, it, onTestFinished } from 'vitest';
import { line, start, step } from '../api/automations/graph.ts';
import { createApi } from '../rig/api.ts';
import { buildForm } from '../rig/forms.ts';
import { scaled } from '../rig/scale.ts';
import { dice, testSeed } from '../rig/seed.ts';
import { startSink, type Sink } from '../rig/sink.ts';
import { installProgram, type Program } from './program.ts';

const KILLS = Math.min(20, scaled(3));
// Four are under way at a time: how many a kill cuts off is a matter of kills, not of runs, until there are no more kills to have.
const RUNS = KILLS < 20 ? 15 * KILLS : scaled(150);
const STEPS = ['start', 'moment', 'unnamed', 'first', 'add', 'name', 'second'];
const SUBJECTS = ['First', 'Second'];
const buildAddress = (i: number): string => `reader${i}@list.example.org`;
const everyAddress = Array.from({ length: RUNS }, (_, i) => buildAddress(i));
const everyEmail = everyAddress.flatMap((address) => SUBJECTS.map((subject) => `${subject} ${address}`));

interface Read {
  id: string;
  status: string;
  steps?: { key: string; status: string }[];
  runs?: { running: number };
  data: { id: string; email: string; status: string; first_name: string | null }[];
}

async function call(program: Program, method: 'GET' | 'POST', path: string, body?: unknown): Promise<Read> {
  for (let tries = 1; ; tries++) {
    try {
      const api = createApi(await program.listening());
      const answer = await api(method, path, { key: program.apiKey, ...(body === undefined ? {} : { body }) });
      expect(answer.status, answer.text).toBeLessThan(300);
      return answer.body as unknown as Read;
    } catch (error) {
      // It died under the question.
      if (method !== 'GET' || tries >= 20) throw error;
    }
  }
}

/** Every page: a list of contacts does not say whether there is more. */
async function all(program: Program, path: string): Promise<Read['data']> {
  const found: Read['data'] = [];
  for (let after = ''; ;) {
    const page = await call(program, 'GET', `${path}?limit=100${after}`);
    found.push(...page.data);
    if (page.data.length < 100) return found;
    after = `&after=${page.data.at(-1)?.id}`;
  }
}

async function importContacts(program: Program): Promise<void> {
  const form = buildForm(`email\n${everyAddress.join('\n')}\n`);
  const api = createApi(await program.listening());
  const imported = await api('POST', '/contacts/imports', { key: program.apiKey, ...form });
  await expect
    .poll(async () => (await call(program, 'GET', `/contacts/imports/${imported.body.id as string}`)).status, {
      timeout: 120_000,
    })
    .toBe('completed');
}

/** Begins a run for each contact; all of them wait for one moment, so that a kill finds many on their way. */
async function begin(program: Program): Promise<{ automation: string; segment: string }> {
  await importContacts(program);
  await call(program, 'POST', '/events', { name: 'order' });
  const content = { name: 'T', from: program.from, subject: 'T', html: '<p>Hello</p>' };
  const { id: template } = await call(program, 'POST', '/templates', content);
  await call(program, 'POST', `/templates/${template}/publish`);
  const { id: segment } = await call(program, 'POST', '/segments', { name: 'Reached' });
  const mail = (key: string, subject: string) => step(key, 'send_email', { template: { id: template }, subject });
  const graph = line(
    start,
    step('moment', 'delay', { until: new Date(Date.now() + 2000 + RUNS * 10).toISOString() }),
    // A run that asked again behind its update would go no further.
    step('unnamed', 'condition', { type: 'rule', field: 'first_name', operator: 'is_empty' }),
    mail('first', 'First'),
    step('add', 'add_to_segment', { segment_id: segment }),
    step('name', 'contact_update', { first_name: 'Reached' }),
    mail('second', 'Second'),
  );
  const way = { from: 'unnamed', to: 'first', type: 'condition_met' };
  const connections = graph.connections.map((one) => ((one as typeof way).from === 'unnamed' ? way : one));
  const { id } = await call(program, 'POST', '/automations', { name: 'A', status: 'enabled', ...graph, connections });
  const left = [...(await all(program, '/contacts'))];
  const send = async (): Promise<void> => {
    for (let one = left.pop(); one; one = left.pop()) {
      await call(program, 'POST', '/events/send', { event: 'order', contact_id: one.id });
    }
  };
  await Promise.all(Array.from({ length: 4 }, send));
  return { automation: id, segment };
}

/** Counts what arrives, and resolves `reaches` as soon as so many emails have. */
async function startCounter(): Promise<{
  sink: Sink;
  arrivals: Map<string, number>;
  reaches(at: number): Promise<void>;
}> {
  const arrivals = new Map<string, number>();
  let due: { at: number; resolve: () => void } | undefined;
  const sink = await startSink({
    keep: false,
    onMessage({ rcptTo, data }) {
      const subject = /^Subject: (\w+)\r$/m.exec(String(data))?.[1];
      const email = `${subject} ${rcptTo.join()}`;
      arrivals.set(email, (arrivals.get(email) ?? 0) + 1);
      if (due && arrivals.size >= due.at) due.resolve();
    },
  });
  const reaches = (at: number): Promise<void> =>
    new Promise((resolve) => {
      due = { at, resolve };
      if (arrivals.size >= at) resolve();
    });
  return { sink, arrivals, reaches };
}

it(
  `${RUNS} automation runs survive kill -9 ${KILLS} times: each step runs once, and no run is left over`,
  async () => {
    const random = dice(testSeed());
    const { sink, arrivals, reaches } = await startCounter();
    onTestFinished(() => sink.close());
    let inDoubt = 0;
    const env = {
      RASKET_AUTOMATIONS_LEASE_SECONDS: '2',
      RASKET_AUTOMATIONS_POLL_MS: '100',
      RASKET_AUTOMATIONS_MAX_AT_ONCE: '4',
    };
    const program = await installProgram(
      sink,
      ({ msg, to }) => {
        if (msg === 'delivery outcome unknown') inDoubt += (to as string[]).length;
      },
      { env },
    );
    const { automation, segment } = await begin(program);
    // This counts kills while runs were in progress: a kill while none was would prove nothing.
    let midway = 0;
    for (let killed = 0; killed < KILLS; killed++) {
      const left = everyEmail.length - arrivals.size;
      await reaches(arrivals.size + 1 + Math.floor((random() * left) / (KILLS + 1)));
      const runs = await call(program, 'GET', `/automations/${automation}/runs?status=running&limit=1`);
      if (runs.data.length > 0) midway++;
      // Some ends are orderly ones.
      await (killed % 4 === 2 ? program.stop() : program.kill());
      await program.start();
    }
    const open = async () => (await call(program, 'GET', `/automations/${automation}`)).runs?.running;
    await expect.poll(open, { timeout: 120_000 }).toBe(0);
    // A delivery that died under the answer is in doubt: it is not sent again.
    const missing = () => everyEmail.length - arrivals.size - inDoubt;
    await expect.poll(missing, { timeout: 120_000 }).toBeLessThanOrEqual(0);
    const runs = await all(program, `/automations/${automation}/runs`);
    for (const { id } of runs) {
      const { steps } = await call(program, 'GET', `/automations/${automation}/runs/${id}`);
      expect(steps?.map(({ key, status }) => `${key} ${status}`)).toEqual(STEPS.map((key) => `${key} completed`));
    }
    const emails = await all(program, '/emails');
    const twice = [...arrivals].filter(([, times]) => times > 1);
    const figures = { kills: KILLS, midway, runs: runs.length, emails: emails.length, arrived: arrivals.size, inDoubt };
    console.log(JSON.stringify(figures));
    expect(midway).toBeGreaterThan(0);
    expect(twice).toEqual([]);
    expect(runs.map(({ status }) => status)).toEqual(Array.from({ length: RUNS }, () => 'completed'));
    expect(emails).toHaveLength(everyEmail.length);
    const added = await all(program, `/segments/${segment}/contacts`);
    expect(added.map(({ email }) => email).sort()).toEqual(everyAddress.toSorted());
    const contacts = await all(program, '/contacts');
    expect(contacts.filter(({ first_name: name }) => name !== 'Reached')).toEqual([]);
  },
  300_000 + RUNS * 300,
);
