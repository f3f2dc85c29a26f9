import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';
import { plantWebhook, plantWebhookEvent, toUuid, type PlantedEvent } from '../../rig/webhooks.ts';

let scene: Scene;
beforeAll(async () => {
  scene = await startScene({ roles: ['http'] });
});
afterAll(() => scene.close());

async function endpoint(team: Team, status: 'enabled' | 'disabled' = 'enabled') {
  const id = await plantWebhook(scene, team, { status });
  const add = (wishes: PlantedEvent = { status: 'failed', attempts: 10, lastStatus: 500 }) =>
    plantWebhookEvent(scene, team, id, wishes);
  const replay = (event: string) => scene.api('POST', `/webhooks/${id}/events/${event}/replay`, { key: team.key });
  const row = (event: string) =>
    scene.app.world.db.get('select * from webhook_events where webhook_id = ? and event_id = ?', [id, toUuid(event)]);
  return { id, add, replay, row };
}

const limited = (seconds: number) => ({
  status: 429,
  body: { name: 'rate_limit_exceeded', message: expect.stringMatching(/10 events a minute/) as string },
  retryAfter: String(seconds),
});
const seen = (answer: Awaited<ReturnType<Scene['api']>>) => ({
  status: answer.status,
  body: answer.body as object,
  retryAfter: answer.headers.get('retry-after'),
});

describe('POST /webhooks/{webhook_id}/events/{event_id}/replay', () => {
  it.each([
    ['failed', { status: 'failed', attempts: 10, lastStatus: 500 }],
    ['delivered', { status: 'success', attempts: 1, lastStatus: 200 }],
    ['parked', { status: 'pending', parked: true }],
    ['waiting', { status: 'attempting', attempts: 3, dueAt: Number.MAX_SAFE_INTEGER }],
  ] as const)('a replay makes an event that is %s due now, with all its attempts ahead', async (_, wishes) => {
    const { add, replay, row } = await endpoint(await scene.team());
    const event = await add(wishes);
    const { status, body } = await replay(event);
    expect([status, body]).toEqual([200, { object: 'webhook_event', id: event }]);
    expect(await row(event)).toMatchObject({
      status: 'pending',
      parked: 0,
      tries: 0,
      due_at: scene.clock.now(),
      attempt_count: 'attempts' in wishes ? wishes.attempts : 0,
    });
  });

  it('an event that is already due can be replayed', async () => {
    const { add, replay, row } = await endpoint(await scene.team());
    const now = scene.clock.now();
    const event = await add({ status: 'pending', dueAt: now });
    await replay(event);
    expect(await row(event)).toMatchObject({ due_at: now - 1 });
  });

  it('a replay to a disabled endpoint is refused, and the event stays parked', async () => {
    const { id, add, replay, row } = await endpoint(await scene.team(), 'disabled');
    const event = await add({ status: 'pending', parked: true });
    expect(await replay(event)).toMatchObject({
      status: 422,
      body: { name: 'validation_error', message: expect.stringContaining(`${id} is disabled`) as string },
    });
    expect(await row(event)).toMatchObject({ parked: 1, due_at: null });
  });

  it('a team can make ten replays in any minute, over all its endpoints', async () => {
    const team = await scene.team();
    const one = await endpoint(team);
    const two = await endpoint(team);
    const first = await one.add();
    const second = await two.add();
    for (let i = 0; i < 5; i++) expect((await one.replay(first)).status).toBe(200);
    scene.clock.advance(30_000);
    for (let i = 0; i < 5; i++) expect((await two.replay(second)).status).toBe(200);
    expect(seen(await one.replay(first))).toMatchObject(limited(30));
    expect(seen(await two.replay(second))).toMatchObject(limited(30));
    scene.clock.advance(29_999);
    expect(seen(await one.replay(first))).toMatchObject(limited(1));
    scene.clock.advance(1);
    for (let i = 0; i < 5; i++) expect((await one.replay(first)).status).toBe(200);
    expect(seen(await one.replay(first))).toMatchObject(limited(30));
    const other = await endpoint(await scene.team());
    expect((await other.replay(await other.add())).status).toBe(200);
  });

  it('a refused replay changes and counts nothing', async () => {
    const team = await scene.team();
    const open = await endpoint(team);
    const shut = await endpoint(team, 'disabled');
    const event = await open.add();
    const parked = await shut.add({ status: 'pending', parked: true });
    for (let i = 0; i < 6; i++) {
      expect((await shut.replay(parked)).status).toBe(422);
      expect((await open.replay(`msg_${'0'.repeat(32)}`)).status).toBe(404);
    }
    for (let i = 0; i < 10; i++) expect((await open.replay(event)).status).toBe(200);
    const untouched = await open.add();
    const before = await open.row(untouched);
    expect((await open.replay(untouched)).status).toBe(429);
    expect(await open.row(untouched)).toEqual(before);
    // A permanent error is reported before a temporary one.
    expect((await shut.replay(parked)).status).toBe(422);
    expect((await open.replay(`msg_${'0'.repeat(32)}`)).status).toBe(404);
  });

  it('ten of many concurrent replays are accepted', async () => {
    const { add, replay } = await endpoint(await scene.team());
    const event = await add();
    const answers = await Promise.all(Array.from({ length: 25 }, () => replay(event)));
    expect(answers.filter((answer) => answer.status === 200)).toHaveLength(10);
    expect(answers.filter((answer) => answer.status === 429)).toHaveLength(15);
  });

  it('the limit applies across a restart, and records that no longer count are deleted', async () => {
    const team = await scene.team();
    const { add, replay } = await endpoint(team);
    const event = await add();
    for (let i = 0; i < 10; i++) await replay(event);
    await scene.restart();
    expect((await replay(event)).status).toBe(429);
    scene.clock.advance(60_000);
    expect((await replay(event)).status).toBe(200);
    const kept = 'select count(*) as n from webhook_replays where team_id = ?';
    expect(await scene.app.world.db.get(kept, [team.id])).toEqual({ n: 1 });
  });

  it('a replay with a request body is refused', async () => {
    const team = await scene.team();
    const { id, add } = await endpoint(team);
    const path = `/webhooks/${id}/events/${await add()}/replay`;
    expect(await scene.api('POST', path, { key: team.key, body: { force: true } })).toMatchObject({
      status: 400,
      body: { errors: [{ path: 'force' }] },
    });
  });
});
