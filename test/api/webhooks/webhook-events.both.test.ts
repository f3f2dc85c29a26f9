import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';
import { plantAttempt, plantWebhook, plantWebhookEvent, type PlantedEvent } from '../../rig/webhooks.ts';

let scene: Scene;
beforeAll(async () => {
  scene = await startScene({ roles: ['http'] });
});
afterAll(() => scene.close());

const call = (team: Team, method: string, path: string) => scene.api(method, path, { key: team.key });
const iso = (ms: number): string => new Date(ms).toISOString();

/** Creates a team, its endpoint, and a way to give it events a second apart. */
async function endpoint(status: 'enabled' | 'disabled' = 'enabled') {
  const team = await scene.team();
  const id = await plantWebhook(scene, team, { status });
  const add = async (wishes: PlantedEvent = {}): Promise<string> => {
    scene.clock.advance(1000);
    return plantWebhookEvent(scene, team, id, wishes);
  };
  const ids = async (query = '', list = 'events'): Promise<string[]> => {
    const { status: code, body } = await call(team, 'GET', `/webhooks/${id}/${list}${query}`);
    expect(code, query).toBe(200);
    return body.data.map((item: { id: string }) => item.id);
  };
  return { team, id, add, ids, path: `/webhooks/${id}` };
}

describe('GET /webhooks/{webhook_id}/events', () => {
  it('returns the details of each event, newest first', async () => {
    const { team, add, path } = await endpoint();
    const one = await add({ status: 'success', attempts: 1, lastStatus: 200, type: 'email.delivered' });
    const created = iso(scene.clock.now());
    const two = await add({ status: 'pending', dueAt: scene.clock.now() });
    const { body } = await call(team, 'GET', `${path}/events`);
    expect(body).toEqual({
      object: 'list',
      has_more: false,
      data: [
        {
          id: two,
          type: 'email.sent',
          status: 'pending',
          attempt_count: 0,
          last_http_status: null,
          created_at: iso(scene.clock.now()),
        },
        {
          id: one,
          type: 'email.delivered',
          status: 'success',
          attempt_count: 1,
          last_http_status: 200,
          created_at: created,
        },
      ],
    });
  });

  it('filters by status, by type, by time, and by all of them', async () => {
    const { add, ids } = await endpoint();
    const a = await add({ status: 'success', type: 'email.sent' });
    const b = await add({ status: 'failed', type: 'email.sent' });
    const from = iso(scene.clock.now());
    const c = await add({ status: 'failed', type: 'email.bounced' });
    const d = await add({ status: 'attempting', type: 'email.bounced', dueAt: scene.clock.now() });
    const to = iso(scene.clock.now());
    const e = await add({ status: 'failed', type: 'email.bounced' });
    expect(await ids()).toEqual([e, d, c, b, a]);
    expect(await ids('?status=failed')).toEqual([e, c, b]);
    expect(await ids('?status=attempting')).toEqual([d]);
    expect(await ids('?status=pending')).toEqual([]);
    expect(await ids('?type=email.sent')).toEqual([b, a]);
    expect(await ids('?type=automation.run.failed')).toEqual([]);
    expect(await ids('?status=failed&type=email.bounced')).toEqual([e, c]);
    // Both ends are inclusive, to the millisecond.
    expect(await ids(`?start_date=${from}`)).toEqual([e, d, c, b]);
    expect(await ids(`?end_date=${to}`)).toEqual([d, c, b, a]);
    expect(await ids(`?start_date=${iso(Date.parse(from) + 1)}&end_date=${iso(Date.parse(to) - 1)}`)).toEqual([c]);
    expect(await ids(`?start_date=${from}&end_date=${from}`)).toEqual([b]);
    expect(await ids(`?status=failed&type=email.bounced&start_date=${from}&end_date=${to}`)).toEqual([c]);
    expect(await ids(`?status=failed&limit=1&after=${e}`)).toEqual([c]);
    expect(await ids(`?status=failed&limit=1&before=${b}`)).toEqual([c]);
    // An offset is another spelling of the same instant.
    const berlin = encodeURIComponent(iso(Date.parse(from) + 3_600_000).replace('Z', '+01:00'));
    expect(await ids(`?start_date=${berlin}`)).toEqual([e, d, c, b]);
  });

  it.each([
    ['start_date=2026-11-20', 'start_date'],
    ['end_date=2026-11-20', 'end_date'],
    ['start_date=2026-11-20&end_date=2026-11-21T00:00:00Z', 'start_date'],
    ['start_date=yesterday', 'start_date'],
    ['start_date=1763629200', 'start_date'],
    ['end_date=2026-02-30T00:00:00Z', 'end_date'],
    ['end_date=2026-11-20T25:00:00Z', 'end_date'],
    ['start_date=', 'start_date'],
    ['start_date=2026-11-20T00:00:00.001Z&end_date=2026-11-20T00:00:00.000Z', 'end_date'],
    ['status=sent', 'status'],
    ['status=', 'status'],
    ['type=email.queued', 'event type'],
    ['type=email', 'event type'],
    ['type=', 'event type'],
    ['after=msg_1', 'after'],
    ['after=019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e01', 'after'],
    ['before=MSG_019a9c1e7d527c3a9a540b8f4c1f2e01', 'before'],
  ])('returns 422 invalid_parameter for %s', async (query, name) => {
    const { team, path } = await endpoint();
    expect(await call(team, 'GET', `${path}/events?${query}`)).toMatchObject({
      status: 422,
      body: { name: 'invalid_parameter', message: expect.stringContaining(name) as string },
    });
  });

  it.each(['0000-01-01T00:00:00Z', '1969-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z'])(
    'accepts a time as far away as %s',
    async (instant) => {
      const { add, ids } = await endpoint();
      const event = await add();
      expect(await ids(`?start_date=${instant}`)).toEqual(instant.startsWith('9') ? [] : [event]);
      expect(await ids(`?end_date=${instant}`)).toEqual(instant.startsWith('9') ? [event] : []);
    },
  );

  it('lists an event under each of its endpoints with one id', async () => {
    const mine = await endpoint();
    const other = await endpoint();
    const [own] = [await mine.add(), await other.add()];
    expect(await mine.ids()).toEqual([own]);
    expect(await call(mine.team, 'GET', `${other.path}/events`)).toMatchObject({ status: 404 });
  });
});

describe('GET /webhooks/{webhook_id}/events/{event_id}', () => {
  it('adds the time of the next attempt and the payload', async () => {
    const { team, add, path } = await endpoint();
    const dueAt = scene.clock.now() + 60_000;
    const id = await add({ status: 'attempting', attempts: 2, lastStatus: 503, dueAt });
    const { status, body } = await call(team, 'GET', `${path}/events/${id}`);
    expect([status, body]).toEqual([
      200,
      {
        object: 'webhook_event',
        id,
        type: 'email.sent',
        status: 'attempting',
        attempt_count: 2,
        last_http_status: 503,
        created_at: iso(scene.clock.now()),
        next_attempt_at: iso(dueAt),
        payload: { type: 'email.sent', created_at: iso(scene.clock.now()), data: expect.any(Object) as object },
      },
    ]);
    const done = await add({ status: 'success' });
    expect((await call(team, 'GET', `${path}/events/${done}`)).body.next_attempt_at).toBeNull();
  });

  it('finds an event under its own endpoint only', async () => {
    const mine = await endpoint();
    const stranger = await endpoint();
    const second = await plantWebhook(scene, mine.team);
    const event = await mine.add();
    const nobodys = 'msg_019a9c1e7d527c3a9a540b8f4c1f2e04';
    for (const [method, tail] of [
      ['GET', ''],
      ['GET', '/attempts'],
      ['POST', '/replay'],
    ] as const) {
      const foreign = await call(stranger.team, method, `${mine.path}/events/${event}${tail}`);
      const absent = await call(stranger.team, method, `/webhooks/wh_${'0'.repeat(32)}/events/${nobodys}${tail}`);
      expect([foreign.status, foreign.text]).toEqual([404, absent.text]);
      const misplaced = await call(mine.team, method, `/webhooks/${second}/events/${event}${tail}`);
      const unknown = await call(mine.team, method, `/webhooks/${second}/events/${nobodys}${tail}`);
      expect([misplaced.status, misplaced.text]).toEqual([404, unknown.text]);
    }
  });

  it.each(['x', 'msg_', 'msg_1', 'MSG_019a9c1e7d527c3a9a540b8f4c1f2e04', 'msg_019A9C1E7D527C3A9A540B8F4C1F2E04'])(
    'refuses %s, which is not an event id',
    async (event) => {
      const { team, path } = await endpoint();
      expect(await call(team, 'GET', `${path}/events/${event}`)).toMatchObject({
        status: 422,
        body: { name: 'invalid_parameter', message: expect.stringContaining('event_id') as string },
      });
    },
  );
});

describe('GET /webhooks/{webhook_id}/events/{event_id}/attempts', () => {
  it('lists newest first, page by page, with the answers', async () => {
    const { team, id, add, path } = await endpoint();
    const event = await add({ status: 'success', attempts: 3 });
    const place = { webhookId: id, publicId: event };
    const other = await add();
    await plantAttempt(scene, { webhookId: id, publicId: other });
    const ids = [
      await plantAttempt(scene, place, { number: 1, status: null, response: null, error: 'timeout' }),
      await plantAttempt(scene, place, { number: 2, status: 500, response: 'x'.repeat(8192) }),
      await plantAttempt(scene, place, { number: 3, status: 204, response: '' }),
    ];
    const { body } = await call(team, 'GET', `${path}/events/${event}/attempts`);
    expect(body.data.map((attempt: { id: string }) => attempt.id)).toEqual(ids.toReversed());
    expect(body.data[2]).toEqual({
      object: 'webhook_attempt',
      id: ids[0],
      attempt_number: 1,
      http_status_code: null,
      response: null,
      error: 'timeout',
      duration_ms: 41,
      sent_at: iso(scene.clock.now()),
    });
    expect(body.data[1]).toMatchObject({ http_status_code: 500, response: 'x'.repeat(8192), error: null });
    const page = async (query: string) => {
      const answer = (await call(team, 'GET', `${path}/events/${event}/attempts?${query}`)).body;
      return [answer.data.map((attempt: { id: string }) => attempt.id), answer.has_more];
    };
    expect(await page('limit=2')).toEqual([[ids[2], ids[1]], true]);
    expect(await page(`limit=2&after=${ids[1]}`)).toEqual([[ids[0]], false]);
    expect(await page(`limit=1&before=${ids[0]}`)).toEqual([[ids[1]], true]);
    expect(await page(`before=${ids[2]}`)).toEqual([[], false]);
  });
});

describe('GET /webhooks/{webhook_id}/parked', () => {
  it('lists oldest first what arrived while the endpoint was disabled, and nothing else', async () => {
    const { team, add, ids, path } = await endpoint('disabled');
    await add({ status: 'failed' });
    const parked = [await add({ status: 'pending', parked: true }), await add({ status: 'pending', parked: true })];
    await add({ status: 'success' });
    parked.push(await add({ status: 'attempting', parked: true, attempts: 2 }));
    expect(await ids('', 'parked')).toEqual(parked);
    const { body } = await call(team, 'GET', `${path}/parked?limit=2`);
    expect(body).toMatchObject({ has_more: true, data: [{ id: parked[0], type: 'email.sent' }, { id: parked[1] }] });
    expect((await call(team, 'GET', `${path}/parked?limit=3`)).body.has_more).toBe(false);
  });

  it('pages from the oldest on, after one of the events or from a time on', async () => {
    const { add, ids } = await endpoint();
    const a = await add({ status: 'pending', parked: true });
    await add({ status: 'failed' });
    const b = await add({ status: 'attempting', attempts: 3, parked: true });
    scene.clock.advance(1);
    const from = iso(scene.clock.now());
    const c = await add({ status: 'pending', parked: true });
    expect(await ids('', 'parked')).toEqual([a, b, c]);
    expect(await ids('?limit=1', 'parked')).toEqual([a]);
    expect(await ids(`?after=${a}&limit=1`, 'parked')).toEqual([b]);
    expect(await ids(`?after=${c}`, 'parked')).toEqual([]);
    expect(await ids(`?start_date=${from}`, 'parked')).toEqual([c]);
    expect(await ids(`?start_date=${from}&after=${a}`, 'parked')).toEqual([c]);
  });

  it.each([
    ['limit=0', 'limit'],
    ['limit=101', 'limit'],
    ['limit=x', 'limit'],
    ['status=pending', 'status'],
    ['start_date=2026-11-20', 'start_date'],
    ['start_date=', 'start_date'],
    ['after=msg_1', 'after'],
    ['before=msg_019a9c1e7d527c3a9a540b8f4c1f2e01', 'before'],
  ])('returns 422 invalid_parameter for %s', async (query, name) => {
    const { team, path } = await endpoint();
    expect(await call(team, 'GET', `${path}/parked?${query}`)).toMatchObject({
      status: 422,
      body: { name: 'invalid_parameter', message: expect.stringContaining(name) as string },
    });
  });
});
