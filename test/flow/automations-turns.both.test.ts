// many runs that are due --> whose are carried first; and what becomes of one whose step fails by our own fault
import { describe, expect, it } from 'vitest';
import { createAutomationLoop } from '../../src/features/automations/runner/execute-run.ts';
import { createTurns } from '../../src/platform/work-loop/index.ts';
import { claimDueRuns, listTurns, type RunRow } from '../../src/features/automations/automation-runs.store.ts';
import { setSending } from '../../src/tenancy/instance/index.ts';
import { uploadIn } from '../api/contact-imports/importing.ts';
import { line, start, step, supply, wait, type Supplies } from '../api/automations/graph.ts';
import { explainQueries, rowsRead } from '../rig/plans.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import { HOUR, MINUTE } from './mail.ts';

const DAY = 24 * HOUR;

async function automate(scene: Scene, has: Supplies, ...steps: { key: string }[]): Promise<string> {
  const body = { name: 'A', status: 'enabled', ...line(start, ...steps) };
  return (await scene.api('POST', '/automations', { key: has.team.key, body })).body.id;
}
const send = (scene: Scene, { team, contact }: Supplies) =>
  scene.api('POST', '/events/send', { key: team.key, body: { event: 'order', contact_id: contact } });
const fetchRun = async (scene: Scene, { team: { key } }: Supplies, automation: string) => {
  const [{ id }] = (await scene.api('GET', `/automations/${automation}/runs`, { key })).body.data;
  return (await scene.api('GET', `/automations/${automation}/runs/${id}`, { key })).body;
};
const mail = (has: Supplies) =>
  step('mail', 'send_email', { template: { id: has.template, variables: { PRODUCT: 'Tea' } } });

/** Runs of a team that are due, the first `from` milliseconds after the beginning of time. */
async function due(
  scene: Scene,
  has: Supplies,
  automation: string,
  { from, count, batch = 0 }: { from: number; count: number; batch?: number },
) {
  const { db, ids } = scene.app.world;
  const columns = [
    'id',
    'team_id',
    'automation_id',
    'version',
    'contact_id',
    'status',
    'due_at',
    'created_at',
    'batch',
  ];
  const row = (i: number) => [ids.uuid(), has.team.id, automation, 1, has.contact, 'running', from + i, from, batch];
  await db.insertMany(
    'automation_runs',
    columns,
    Array.from({ length: count }, (_, i) => row(i)),
  );
}

describe('turns of teams', () => {
  it('keep an older backlog of one team from delaying another', async () => {
    await using scene = await startScene({ roles: ['http'] });
    const many = await supply(scene);
    const few = await supply(scene);
    for (const [has, count] of [
      [many, 40],
      [few, 2],
    ] as const) {
      await automate(scene, has, step('name', 'contact_update', { first_name: 'Ada' }));
      for (let n = 0; n < count; n++) await send(scene, has);
      scene.clock.advance(1000);
    }
    const { world } = scene.app;
    const config = { ...world.config, automations: { ...world.config.automations, max_at_once: 1 } };
    const loop = createAutomationLoop({ ...world, config }, () => undefined);
    await loop.start();
    await loop.idle();
    await loop.stop(0);
    const sql = "select team_id from events where type = 'automation.run.completed' order by id";
    const order = (await world.db.all<{ team_id: string }>(sql)).map((row) => row.team_id);
    const { id: theirs } = few.team;
    expect(order).toHaveLength(42);
    expect(order.filter((team) => team === theirs)).toHaveLength(2);
    expect(order.lastIndexOf(theirs)).toBeLessThan(4);
  });

  it('a backlog of one automation, or of runs begun together, does not delay a run begun alone', async () => {
    await using scene = await startScene({ roles: ['http'] });
    const has = await supply(scene);
    const rename = step('name', 'contact_update', { first_name: 'Ada' });
    const busy = await automate(scene, has, rename);
    const other = await automate(scene, has, rename);
    await due(scene, has, busy, { from: 0, count: 60, batch: 1 });
    await due(scene, has, busy, { from: 1000, count: 1 });
    await due(scene, has, other, { from: 1000, count: 1 });
    const { world } = scene.app;
    const config = { ...world.config, automations: { ...world.config.automations, max_at_once: 2 } };
    const loop = createAutomationLoop({ ...world, config }, () => undefined);
    await loop.start();
    await loop.idle();
    await loop.stop(0);
    const sql = "select subject_id from events where type = 'automation.run.completed' order by id";
    const order = (await world.db.all<{ subject_id: string }>(sql)).map((row) => row.subject_id);
    const alone = await world.db.all<{ id: string }>('select id from automation_runs where batch = 0');
    expect(order).toHaveLength(62);
    expect(alone).toHaveLength(2);
    for (const { id } of alone) expect(order.indexOf(id)).toBeLessThan(6);
  });

  it('automations have the same number of turns, and within one, runs begun alone as many as all batches together', async () => {
    await using scene = await startScene({ roles: ['http'] });
    const has = await supply(scene);
    const busy = await automate(scene, has);
    const other = await automate(scene, has);
    for (const batch of [1, 2, 3]) await due(scene, has, busy, { from: 0, count: 40, batch });
    await due(scene, has, busy, { from: 1000, count: 40 });
    await due(scene, has, other, { from: 1000, count: 40 });
    const { db, clock } = scene.app.world;
    const turns = createTurns();
    const inTurn = (ids: readonly string[]) => turns.inTurn(ids, (id) => id);
    const claimed: RunRow[] = [];
    for (let n = 0; n < 6; n++) {
      const lease = { owner: 'a', now: clock.now(), until: clock.now() + 60_000 };
      const rows = await db.tx((tx) => claimDueRuns(tx, { ...lease, limit: 12, inTurn }));
      turns.took(listTurns(rows));
      claimed.push(...rows);
    }
    const count = (holds: (run: RunRow) => boolean): number => claimed.filter(holds).length;
    expect(claimed).toHaveLength(72);
    expect(count((run) => run.automation_id === other)).toBe(36);
    expect(count((run) => run.automation_id === busy && Number(run.batch) === 0)).toBe(18);
    for (const batch of [1, 2, 3]) expect(count((run) => Number(run.batch) === batch)).toBe(6);
  });

  it('runs that an import begins are a batch, and one that is begun alone is not', async () => {
    await using scene = await startScene();
    const has = await supply(scene);
    const body = {
      name: 'A',
      status: 'enabled',
      ...line(step('start', 'trigger', { event_name: 'rasket:contact.created' })),
    };
    await scene.api('POST', '/automations', { key: has.team.key, body });
    await scene.api('POST', '/contacts', { key: has.team.key, body: { email: 'alone@example.org' } });
    const rows = Array.from({ length: 30 }, (_, n) => `new${n}@example.org`);
    // The rows of a small import are bulk too.
    for (const part of [rows.slice(0, 27), rows.slice(27)])
      await uploadIn(scene, has.team, `email\n${part.join('\n')}\n`, { start_automations: 'true' });
    await scene.settled();
    const sql = 'select count(*) as runs from automation_runs where batch = 0';
    expect(Number((await scene.app.world.db.get<{ runs: number }>(sql))?.runs)).toBe(1);
    const batches = await scene.app.world.db.all<{ batch: number }>('select distinct batch from automation_runs');
    expect(batches.length).toBeGreaterThan(1);
    const all = 'select count(*) as runs from automation_runs';
    expect(Number((await scene.app.world.db.get<{ runs: number }>(all))?.runs)).toBe(31);
  });

  it('give each team its part of more than a thousand runs, by an index', async () => {
    await using scene = await startScene({ roles: ['http'] });
    const all: Supplies[] = [];
    for (const [from, count] of [
      [0, 1200],
      [2000, 600],
      [3000, 1],
    ] as const) {
      const has = await supply(scene);
      await due(scene, has, await automate(scene, has), { from, count });
      all.push(has);
    }
    const { db, clock } = scene.app.world;
    await db.withKnex((knex) => knex.raw(db.dialect === 'pg' ? 'vacuum analyze automation_runs' : 'analyze'));
    const turns = createTurns();
    const claim = async (limit: number): Promise<string[]> => {
      const now = clock.now();
      const inTurn = (ids: readonly string[]) => turns.inTurn(ids, (id) => id);
      const lease = { owner: 'a', now, until: now + 60_000 };
      const rows = await db.tx((tx) => claimDueRuns(tx, { ...lease, limit, inTurn }));
      turns.took(new Set(rows.map((row) => row.team_id)));
      return rows.map((row) => row.team_id);
    };
    const [first, second, third] = all.map(({ team }) => team.id);
    const plans = await explainQueries(
      db,
      async () => expect(new Set(await claim(3))).toEqual(new Set([first, second, third])),
      'automation_runs',
    );
    for (const plan of plans) {
      expect(plan).not.toMatch(/Seq Scan on automation_runs|SCAN automation_runs(?! USING)|TEMP B-TREE/);
      expect(rowsRead(plan)).toBeLessThanOrEqual(600);
    }
    // The third has nothing any more.
    expect(new Set([...(await claim(1)), ...(await claim(1))])).toEqual(new Set([first, second]));
    const shared = await claim(20);
    expect([first, second].map((id) => shared.filter((one) => one === id).length)).toEqual([10, 10]);
  });
});

it('a refused step is undone, and no other step of the same commit with it', async () => {
  await using scene = await startScene({ roles: ['http'] });
  const has = await supply(scene);
  const good = await automate(scene, has, step('add', 'add_to_segment', { segment_id: has.segment }));
  const bad = await automate(scene, has, step('add', 'add_to_segment', { segment_id: has.segment }));
  const { world } = scene.app;
  const sql = 'update automation_versions set graph = replace(graph, ?, ?) where automation_id = ?';
  await world.db.run(sql, [has.segment, world.ids.uuid(), bad]);
  for (let n = 0; n < 8; n++) await send(scene, has);
  let commits = 0;
  const tx: typeof world.db.tx = (work) => (commits++, world.db.tx(work));
  const db: typeof world.db = Object.assign(Object.create(world.db) as typeof world.db, { tx });
  const loop = createAutomationLoop({ ...world, db }, () => undefined);
  await loop.start();
  await loop.idle();
  await loop.stop(0);
  const runs = (automation: string) =>
    world.db.all<{ status: string; error: string | null }>(
      'select status, error from automation_runs where automation_id = ?',
      [automation],
    );
  expect(await runs(good)).toEqual(Array.from({ length: 8 }, () => ({ status: 'completed', error: null })));
  const error = 'add: The segment was not found in this team.';
  expect(await runs(bad)).toEqual(Array.from({ length: 8 }, () => ({ status: 'failed', error })));
  const told = "select count(*) as n from events where type = 'automation.run.completed'";
  expect(Number((await world.db.get<{ n: number }>(told))?.n)).toBe(8);
  // 16 runs of two steps each; their claims are counted as well.
  if (world.db.dialect === 'sqlite') expect(commits).toBeLessThan(16);
});

describe('a step that fails with a service error', () => {
  const damage = (scene: Scene, automation: string, [from, to]: [string, string]) =>
    scene.app.world.db.run('update automation_versions set graph = replace(graph, ?, ?) where automation_id = ?', [
      from,
      to,
      automation,
    ]);

  it('is retried with growing waits, and continues when it can', async () => {
    await using scene = await startScene();
    const has = await supply(scene);
    const id = await automate(scene, has, wait('w'), mail(has), wait('x'));
    await send(scene, has);
    await scene.settled();
    await damage(scene, id, ['"template":', '"broken":']);
    scene.clock.advance(DAY);
    await scene.settled();
    const row = () =>
      scene.app.world.db.get('select tries, due_at, status from automation_runs where automation_id = ?', [id]);
    expect(await row()).toMatchObject({ tries: 1, due_at: scene.clock.now() + MINUTE, status: 'running' });
    expect((await fetchRun(scene, has, id)).steps[2]).toMatchObject({
      status: 'waiting',
      output: { reason: 'an error of the service, once; its log has the details', until: expect.any(String) },
    });
    await scene.settled();
    expect(await row()).toMatchObject({ tries: 1 });
    scene.clock.advance(MINUTE);
    await scene.settled();
    expect(await row()).toMatchObject({ tries: 2, due_at: scene.clock.now() + 5 * MINUTE });
    await damage(scene, id, ['"broken":', '"template":']);
    scene.clock.advance(5 * MINUTE);
    await scene.settled();
    expect(await row()).toMatchObject({ tries: 0, status: 'running' });
    expect(scene.sink.messages).toHaveLength(1);
  });

  it('makes its run fail with the reason after the eighth attempt', async () => {
    await using scene = await startScene();
    const has = await supply(scene);
    const id = await automate(scene, has, wait('w'), mail(has));
    await send(scene, has);
    await scene.settled();
    await damage(scene, id, ['"template":', '"broken":']);
    for (let n = 0; n < 8; n++) {
      expect(await fetchRun(scene, has, id)).toMatchObject({ status: 'running' });
      scene.clock.advance(DAY);
      await scene.settled();
    }
    const run = await fetchRun(scene, has, id);
    const error = 'an error of the service, 8 times; its log has the details';
    expect(run).toMatchObject({ status: 'failed', error: `mail: ${error}` });
    expect(run.steps[2]).toMatchObject({ key: 'mail', status: 'failed', error: { message: error } });
    expect((await scene.events(run.id)).at(-1)).toMatchObject({ type: 'automation.run.failed' });
  });
});

it('an email of a run is accepted while sending is switched off, waits, and is sent once', async () => {
  await using scene = await startScene();
  const has = await supply(scene);
  const id = await automate(scene, has, mail(has));
  await setSending(scene.app.world, { isOn: false });
  await send(scene, has);
  await scene.settled();
  scene.clock.advance(HOUR);
  await scene.settled();
  expect(scene.sink.messages).toEqual([]);
  expect((await fetchRun(scene, has, id)).status).not.toBe('failed');
  await setSending(scene.app.world, { isOn: true });
  scene.clock.advance(HOUR);
  await scene.settled();
  expect(scene.sink.messages).toHaveLength(1);
  expect(await fetchRun(scene, has, id)).toMatchObject({ status: 'completed' });
});
