import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createWebhookRemoval } from '../../src/features/installation/upkeep/remove-expired.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import { plantAttempt, plantWebhook, plantWebhookEvent, toUuid, type PlantedEvent } from '../rig/webhooks.ts';

const DAY_MS = 24 * 3_600_000;
const HOUR_MS = 3_600_000;
const DAYS = 3;

let scene: Scene;
beforeAll(async () => {
  scene = await startScene({
    roles: ['http'],
    config: { plans: { standard: { retention_days: DAYS }, long: { name: 'Long', retention_days: 30 } } as never },
  });
});
afterAll(() => scene.close());

const sweep = () => scene.app.jobs.find((job) => job.name === 'remove-old-webhook-events')?.run();

async function endpoint(plan = 'standard', status: 'enabled' | 'disabled' = 'enabled') {
  const team = await scene.team();
  const { db } = scene.app.world;
  await db.run('update teams set plan_code = ? where id = ?', [plan, team.id]);
  const id = await plantWebhook(scene, team, { status });
  const add = async (wishes: PlantedEvent = {}): Promise<string> => {
    const event = await plantWebhookEvent(scene, team, id, wishes);
    await plantAttempt(scene, { webhookId: id, publicId: event });
    return event;
  };
  /** Counts the remaining rows of its events, of their attempts and of their bodies. */
  const left = async (events: readonly string[]): Promise<[number, number, number]> => {
    const count = async (table: string, event: string, owner: string, value: string): Promise<number> => {
      const sql = `select count(*) as n from ${table} where ${owner} = ? and event_id = ?`;
      return (await db.get<{ n: number }>(sql, [value, toUuid(event)]))?.n ?? 0;
    };
    const sums: [number, number, number] = [0, 0, 0];
    for (const event of events) {
      sums[0] += await count('webhook_events', event, 'webhook_id', id);
      sums[1] += await count('webhook_attempts', event, 'webhook_id', id);
      sums[2] += await count('webhook_payloads', event, 'team_id', team.id);
    }
    return sums;
  };
  return { team, id, add, left };
}

describe('a webhook event past the plan’s retention', () => {
  it('is removed with its attempts and bodies, exact to the millisecond', async () => {
    const { add, left } = await endpoint();
    const old = [await add({ status: 'success' }), await add({ status: 'failed' }), await add({ parked: true })];
    scene.clock.advance(1);
    const young = [await add(), await add()];
    scene.clock.advance(DAYS * DAY_MS);
    expect(await sweep()).toEqual({ webhooks: 0, events: 3, payloads: 3 });
    expect(await left(old)).toEqual([0, 0, 0]);
    expect(await left(young)).toEqual([2, 2, 2]);
    expect(await sweep()).toEqual({ webhooks: 0, events: 0, payloads: 0 });
    scene.clock.advance(1);
    expect(await sweep()).toEqual({ webhooks: 0, events: 2, payloads: 2 });
  });

  it('is kept with its body while it is still due, however old it is', async () => {
    const { add, left } = await endpoint();
    const due = await add({ status: 'pending', dueAt: scene.clock.now() });
    const later = await add({ status: 'attempting', dueAt: scene.clock.now() + 90 * DAY_MS });
    const done = await add();
    scene.clock.advance(30 * DAY_MS);
    expect(await sweep()).toEqual({ webhooks: 0, events: 1, payloads: 1 });
    expect(await left([due, later])).toEqual([2, 2, 2]);
    expect(await left([done])).toEqual([0, 0, 0]);
    await scene.app.world.db.run('update webhook_events set due_at = null where event_id = ?', [toUuid(due)]);
    expect(await sweep()).toEqual({ webhooks: 0, events: 1, payloads: 1 });
    expect(await left([later])).toEqual([1, 1, 1]);
    await scene.app.world.db.run('delete from webhook_events where event_id = ?', [toUuid(later)]);
    await sweep();
  });

  it('has its body kept while another endpoint of the team has the event', async () => {
    const { team, add, left } = await endpoint();
    const event = await add();
    const second = await plantWebhook(scene, team);
    await scene.app.world.db.run(
      `insert into webhook_events (webhook_id, event_id, team_id, type, status, due_at, created_at)
        values (?, ?, ?, 'email.sent', 'pending', ?, 0)`,
      [second, toUuid(event), team.id, scene.clock.now()],
    );
    scene.clock.advance(30 * DAY_MS);
    await sweep();
    expect(await left([event])).toEqual([0, 0, 1]);
    await scene.app.world.db.run('update webhook_events set due_at = null where webhook_id = ?', [second]);
    await sweep();
    expect(await left([event])).toEqual([0, 0, 0]);
  });

  it('is removed by the plan of its team, and kept when that plan is not configured', async () => {
    const short = await endpoint('standard');
    const long = await endpoint('long');
    const lost = await endpoint('gone');
    const events = [await short.add(), await long.add(), await lost.add()];
    scene.clock.advance(DAYS * DAY_MS + 1);
    expect(await sweep()).toMatchObject({ events: 1 });
    scene.clock.advance(27 * DAY_MS);
    expect(await sweep()).toMatchObject({ events: 1 });
    expect(await lost.left(events)).toEqual([1, 1, 1]);
  });

  it('is removed with tens of thousands in one run, in small batches and turns of the teams', async () => {
    const big = await endpoint();
    const small = await endpoint();
    const { world } = scene.app;
    const rows = Array.from({ length: 41_000 }, () => [
      big.id,
      world.ids.uuid(),
      big.team.id,
      'email.sent',
      'failed',
      0,
    ]);
    const columns = ['webhook_id', 'event_id', 'team_id', 'type', 'status', 'created_at'];
    await world.db.insertMany('webhook_events', columns, rows);
    const event = await small.add();
    scene.clock.advance(DAYS * DAY_MS + 60_000);
    // A run that has no time left ends with the batch it has begun, and the next one begins with the other team.
    const hurried = createWebhookRemoval(world, { deletedMs: 0, expiredMs: 0 });
    const counts = [(await hurried()).events, (await hurried()).events].sort((a, b) => a - b);
    expect(counts).toEqual([1, 200]);
    expect(await small.left([event])).toEqual([0, 0, 0]);
    // So does one whose process is about to end.
    const job = scene.app.jobs.find(({ name }) => name === 'remove-old-webhook-events');
    expect(await job?.run(AbortSignal.abort())).toMatchObject({ events: 200 });
    expect(await sweep()).toMatchObject({ events: 40_600 });
  });
});

describe('the removal of events', () => {
  it('includes all events of a deleted endpoint at once, which is removed when nobody can add to them', async () => {
    const { team, id, add, left } = await endpoint();
    const events = [await add(), await add({ status: 'pending', dueAt: scene.clock.now() })];
    await scene.api('DELETE', `/webhooks/${id}`, { key: team.key });
    expect(await sweep()).toMatchObject({ webhooks: 0, events: 2 });
    expect((await left(events)).slice(0, 2)).toEqual([0, 0]);
    const late = await add({ status: 'pending', dueAt: scene.clock.now() });
    scene.clock.advance(HOUR_MS);
    expect(await sweep()).toMatchObject({ webhooks: 0, events: 1 });
    expect((await left([late])).slice(0, 2)).toEqual([0, 0]);
    scene.clock.advance(1);
    expect(await sweep()).toMatchObject({ webhooks: 1, events: 0 });
    expect(await scene.app.world.db.get('select 1 as one from webhooks where id = ?', [id])).toBeUndefined();
  });

  it('parks events of an endpoint that was disabled incompletely, and they expire like others', async () => {
    const { add, id, left } = await endpoint('standard', 'disabled');
    const event = await add({ status: 'pending', dueAt: scene.clock.now() });
    await sweep();
    const sql = 'select parked, due_at from webhook_events where webhook_id = ?';
    expect(await scene.app.world.db.get(sql, [id])).toEqual({ parked: 1, due_at: null });
    scene.clock.advance(DAYS * DAY_MS + 1);
    await sweep();
    expect(await left([event])).toEqual([0, 0, 0]);
  });
});
