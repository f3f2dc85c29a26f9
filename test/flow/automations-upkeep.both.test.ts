// runs of automations --> what is kept of them, and what is counted
import { expect, it } from 'vitest';
import { line, start, step, supply, wait } from '../api/automations/graph.ts';
import { startScene } from '../rig/scene.ts';
import { DAY, removeExpired } from './expiry.ts';

it('ended runs are removed with their steps after the plan’s retention, running ones stay, and the month counts each once', async () => {
  await using scene = await startScene({ startAt: '2026-05-01T10:00:00Z' });
  const has = await supply(scene);
  const { key } = has.team;
  const make = async (...steps: { key: string }[]) => {
    const body = { name: 'A', status: 'enabled', ...line(start, ...steps) };
    return (await scene.api('POST', '/automations', { key, body })).body.id as string;
  };
  const name = step('name', 'contact_update', { first_name: 'Ada' });
  const quick = await make(name);
  const slow = await make(wait('a', '20 days'), wait('b', '20 days'));
  const send = async () => {
    await scene.api('POST', '/events/send', { key, body: { event: 'order', contact_id: has.contact } });
    await scene.settled();
  };
  const used = async () => (await scene.api('GET', '/usage', { key })).body.automation_runs;
  await send();
  const month = '2026-06-01T00:00:00.000Z';
  expect(await used()).toEqual({ used: 2, limit: null, resets_at: month });
  scene.clock.advance(20 * DAY);
  await send();
  expect(await used(), 'a run that goes on is not counted again').toMatchObject({ used: 4 });

  const { db } = scene.app.world;
  const count = async (automation: string): Promise<[runs: number, steps: number]> => {
    const runs = 'select count(*) as n from automation_runs where automation_id = ?';
    const steps =
      'select count(*) as n from automation_run_steps where run_id in (select id from automation_runs where automation_id = ?)';
    const a = await db.get<{ n: number }>(runs, [automation]);
    const b = await db.get<{ n: number }>(steps, [automation]);
    return [Number(a?.n), Number(b?.n)];
  };
  scene.clock.advance(10 * DAY);
  await removeExpired(scene);
  expect(await count(quick), 'thirty days are not over').toEqual([2, 4]);
  scene.clock.advance(1);
  expect(await removeExpired(scene)).toMatchObject({ runs: 1 });
  expect(await count(quick)).toEqual([1, 2]);
  expect(await count(slow), 'both still wait').toEqual([2, 5]);
  const orphans = 'select count(*) as n from automation_run_steps where run_id not in (select id from automation_runs)';
  expect(Number((await db.get<{ n: number }>(orphans))?.n)).toBe(0);
  expect(await used(), 'what was removed was counted').toMatchObject({ used: 4, resets_at: month });
  scene.clock.advance(2 * DAY);
  expect(await used()).toMatchObject({ used: 0, resets_at: '2026-07-01T00:00:00.000Z' });
});

it('thousands of ended runs of one automation are removed in batches, and the newest stay', async () => {
  await using scene = await startScene({ roles: ['http'] });
  const { team, contact } = await supply(scene);
  const { db, ids, clock } = scene.app.world;
  const columns = ['id', 'team_id', 'automation_id', 'version', 'contact_id', 'status', 'due_at', 'created_at'];
  const automation = ids.uuid();
  const row = (at: number) => [ids.uuid(), team.id, automation, 1, contact, 'failed', at, at, at];
  const now = clock.now();
  const rows = Array.from({ length: 450 }, (_, i) => row(i < 449 ? now + i : now + DAY));
  await db.insertMany('automation_runs', [...columns, 'completed_at'], rows);
  scene.clock.advance(30 * DAY + 449);
  expect(await removeExpired(scene)).toMatchObject({ runs: 449 });
  expect(await db.all('select completed_at from automation_runs')).toMatchObject([{ completed_at: now + DAY }]);
});
