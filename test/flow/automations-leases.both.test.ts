// runs that a process has leased --> the lease runs out, or others look --> each step is done once
import { describe, expect, it } from 'vitest';
import { createAutomationLoop, createRunExecutor } from '../../src/features/automations/runner/execute-run.ts';
import { claimDueRuns, endRun, moveRun } from '../../src/features/automations/automation-runs.store.ts';
import { line, start, step, supply, wait } from '../api/automations/graph.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import { desk, mail } from './automations-desk.ts';

const DAY_MS = 86_400_000;

/** Runs the work before the transaction of the first step after the trigger. */
function beforeStep({ app: { world } }: Scene, work: () => Promise<void>): void {
  const { db } = world;
  const { tx } = db;
  let isToCome = true;
  Object.assign(db, {
    tx: (async (inner) => {
      if (isToCome && (await db.all('select step_key from automation_run_steps')).length > 0) {
        isToCome = false;
        await work();
      }
      return tx(inner);
    }) satisfies typeof tx,
  });
}

it('a step is done once through a clock jump or a suspended process', async () => {
  await using scene = await startScene({ roles: ['http'] });
  const { world } = scene.app;
  const has = await supply(scene);
  const call = (path: string, body: object) => scene.api('POST', path, { key: has.team.key, body });
  const add = step('add', 'add_to_segment', { segment_id: has.segment });
  await call('/automations', {
    name: 'A',
    status: 'enabled',
    ...line(start, mail('mail', has, { PRODUCT: 'Tea' }), add),
  });
  await call('/events/send', { event: 'order', contact_id: has.contact });
  const loop = createAutomationLoop(world, () => undefined);
  const { now } = world.clock;
  beforeStep(scene, async () => {
    // No timer has fired yet that renews the leases.
    Object.assign(world.clock, { now: () => now() + 40 * DAY_MS });
    loop.wake();
    for (let n = 0; n < 200; n++) await new Promise((next) => setImmediate(next));
  });
  await loop.start();
  await loop.idle();
  await loop.stop(0);
  expect(await world.db.all('select status from automation_runs')).toEqual([{ status: 'completed' }]);
  expect(await world.db.all('select id from emails')).toHaveLength(1);
});

it('a run that was claimed before its wait was written has not waited', async () => {
  await using scene = await startScene({ roles: ['http'] });
  const { world } = scene.app;
  const at = desk(scene, await supply(scene));
  const id = await at.automate(wait('w'));
  await at.send();
  const now = scene.clock.now();
  const [run] = await world.db.tx((tx) => claimDueRuns(tx, { owner: 'a', now, until: now + DAY_MS, limit: 1 }));
  if (!run) throw new Error('no run is due');
  const carry = createRunExecutor(world, { owner: 'a', wakeQueue: () => undefined });
  await carry(run, new AbortController().signal);
  const before = await at.run(id);
  await carry({ ...run, started_at: now, step_key: 'w' }, new AbortController().signal);
  expect(await at.run(id)).toEqual(before);
  expect(before).toMatchObject({ status: 'running', by: { w: { status: 'waiting' } } });
});

describe('a lease of automation runs', () => {
  it('belongs to one process until it expires, and actions of another one have no effect meanwhile', async () => {
    await using scene = await startScene({ roles: ['http'] });
    const has = await supply(scene);
    const at = desk(scene, has);
    const id = await at.automate(mail('m', has));
    await at.send({ product: 'Tea' });
    const { db } = scene.app.world;
    const claim = (owner: string, now: number) =>
      db.tx((tx) => claimDueRuns(tx, { owner, now, until: now + 1000, limit: 10 }));
    const now = scene.clock.now();
    const [run] = await claim('a', now);
    expect(await claim('b', now + 999)).toEqual([]);
    expect(await claim('b', now + 1000)).toMatchObject([{ id: run?.id }]);
    const held = { id: run?.id ?? '', owner: 'a' };
    expect(
      await db.tx((tx) => moveRun(tx, { ...held, owner: 'b', at: 'gone', stepKey: 'm', dueAt: 0, startedAt: 0 })),
    ).toBe(false);
    const move = { at: null, stepKey: 'm', dueAt: 0, startedAt: 0 };
    expect(await db.tx((tx) => moveRun(tx, { ...held, ...move }))).toBe(false);
    expect(await db.tx((tx) => endRun(tx, { ...held, at: null, status: 'completed', error: null, now: 0 }))).toBe(
      false,
    );
    expect(await at.run(id)).toMatchObject({ status: 'running', started_at: null });
    // The work of its own process after the cancellation has no effect either.
    await at.must('POST', `/automations/${id}/stop`);
    const own = { id: run?.id ?? '', owner: 'b' };
    expect(await db.tx((tx) => moveRun(tx, { ...own, ...move }))).toBe(false);
    await db.run('update automation_runs set lease_owner = ? where id = ?', ['b', own.id]);
    expect(await db.tx((tx) => moveRun(tx, { ...own, ...move }))).toBe(false);
    expect(await db.tx((tx) => endRun(tx, { ...own, at: null, status: 'failed', error: 'x', now: 0 }))).toBe(false);
    expect(await at.run(id)).toMatchObject({ status: 'cancelled' });
  });

  it('gives each run to one of many concurrent processes', async () => {
    await using scene = await startScene({ roles: ['http'] });
    const has = await supply(scene);
    const at = desk(scene, has);
    const id = await at.automate(mail('m', has), mail('n', has));
    for (let n = 0; n < 20; n++) await at.send({ product: 'Tea' });
    const loops = Array.from({ length: 3 }, () => createAutomationLoop(scene.app.world, () => undefined));
    // On SQLite a start takes the leases of processes that are gone: they begin one behind the other, before any carries.
    await Promise.all(loops.map((loop) => loop.start()));
    for (const loop of loops) await loop.idle();
    for (const loop of loops) await loop.stop(0);
    const { db } = scene.app.world;
    const sql = 'select count(*) as n from emails where team_id = ?';
    expect(Number((await db.get<{ n: number }>(sql, [has.team.id]))?.n)).toBe(40);
    expect(await at.run(id)).toMatchObject({ status: 'completed' });
  });
});
