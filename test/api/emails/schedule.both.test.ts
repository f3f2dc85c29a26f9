import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

describe('a scheduled email', () => {
  let scene: Scene;
  let team: Team;
  let domain: string;
  beforeAll(async () => {
    scene = await startScene();
    team = await scene.team();
    domain = (await team.domain()).name;
  });
  afterAll(() => scene.close());

  const inMs = (ms: number): string => new Date(scene.clock.now() + ms).toISOString();
  async function schedule(ms = 60 * MINUTE_MS, to: string | string[] = 'x@example.org'): Promise<string> {
    const body = { from: `a@${domain}`, to, subject: 'Later', text: 'It works.', scheduled_at: inMs(ms) };
    return (await scene.api('POST', '/emails', { key: team.key, body })).body.id as string;
  }
  const patch = (id: string, body: unknown, key = team.key) => scene.api('PATCH', `/emails/${id}`, { key, body });
  const cancel = (id: string, key = team.key) => scene.api('POST', `/emails/${id}/cancel`, { key });
  const read = async (id: string) => (await scene.api('GET', `/emails/${id}`, { key: team.key })).body;

  it('waits for its time, is sent then, and shows both', async () => {
    const id = await schedule(30 * MINUTE_MS);
    await scene.settled();
    expect(await scene.account(team, id)).toEqual({ state: 'scheduled', events: ['email.scheduled'] });
    scene.clock.advance(30 * MINUTE_MS - 1);
    await scene.settled();
    expect((await read(id)).last_event).toBe('scheduled');
    scene.clock.advance(1000);
    await scene.settled();
    expect(await scene.account(team, id)).toEqual({
      state: 'delivered',
      events: ['email.scheduled', 'email.sent', 'email.delivered'],
    });
  });

  describe('PATCH /emails/{email_id}', () => {
    it('changes the time, later and earlier', async () => {
      const id = await schedule(10 * MINUTE_MS);
      const later = inMs(60 * MINUTE_MS);
      expect(await patch(id, { scheduled_at: later })).toMatchObject({ status: 200, body: { object: 'email', id } });
      expect(await read(id)).toMatchObject({ scheduled_at: later, last_event: 'scheduled' });
      scene.clock.advance(15 * MINUTE_MS);
      await scene.settled();
      expect((await read(id)).last_event).toBe('scheduled');
      expect((await patch(id, { scheduled_at: inMs(2 * MINUTE_MS) })).status).toBe(200);
      scene.clock.advance(3 * MINUTE_MS);
      await scene.settled();
      expect((await read(id)).last_event).toBe('delivered');
    });

    it('gives the email two whole days of retries from its new time', async () => {
      const id = await schedule(MINUTE_MS * 2);
      await patch(id, { scheduled_at: inMs(20 * DAY_MS) });
      const row = await scene.app.world.db.get<{ accepted_at: number; due_at: number }>(
        'select accepted_at, due_at from deliveries where email_id = ?',
        [id],
      );
      expect(row).toEqual({ accepted_at: scene.clock.now() + 20 * DAY_MS, due_at: scene.clock.now() + 20 * DAY_MS });
      await cancel(id);
    });

    it.each([
      ['a minute ahead', MINUTE_MS],
      ['thirty days ahead', 30 * DAY_MS],
    ])('accepts a time %s', async (_, ms) => {
      const id = await schedule();
      expect((await patch(id, { scheduled_at: inMs(ms) })).status).toBe(200);
      await cancel(id);
    });

    it('returns 400 for the nearest invalid values, and names the field and the limit', async () => {
      const id = await schedule();
      const wrong = [
        inMs(MINUTE_MS - 1),
        inMs(30 * DAY_MS + 1),
        inMs(-1),
        'in 1 hour',
        'tomorrow at 9',
        '',
        '2027-02-30T00:00:00Z',
        inMs(DAY_MS).replace('Z', ''),
        7,
        null,
        ['x'],
      ];
      for (const scheduled_at of wrong) {
        const refused = await patch(id, { scheduled_at });
        expect(refused, String(scheduled_at)).toMatchObject({ status: 400, body: { name: 'validation_error' } });
        expect(refused.body.errors[0].path).toBe('scheduled_at');
      }
      expect(await patch(id, {})).toMatchObject({ status: 422, body: { name: 'missing_required_field' } });
      expect(await patch(id, { scheduled_at: inMs(DAY_MS), subject: 'x' })).toMatchObject({
        status: 400,
        body: { errors: [{ path: 'subject' }] },
      });
      await cancel(id);
    });
  });

  describe('POST /emails/{email_id}/cancel', () => {
    it('cancels the email for good', async () => {
      const id = await schedule(5 * MINUTE_MS, ['x@example.org', 'y@example.net']);
      expect(await cancel(id)).toMatchObject({ status: 200, body: { object: 'email', id } });
      const sent = scene.sink.messages.length;
      scene.clock.advance(10 * MINUTE_MS);
      await scene.settled();
      expect(scene.sink.messages.length).toBe(sent);
      expect(await scene.account(team, id)).toEqual({
        state: 'canceled',
        events: ['email.scheduled', 'email.canceled'],
      });
    });

    it('takes an empty body with a JSON content type', async () => {
      const id = await schedule();
      const headers = { 'content-type': 'application/json' };
      expect((await scene.api('POST', `/emails/${id}/cancel`, { key: team.key, headers })).status).toBe(200);
    });
  });

  describe('an email that can no longer be changed', () => {
    const locked = { status: 409, body: { statusCode: 409, name: 'resource_locked' } };

    it('is sent, canceled or was never scheduled, and returns 409 for both calls', async () => {
      const sent = await schedule(MINUTE_MS * 2);
      scene.clock.advance(MINUTE_MS * 3);
      await scene.settled();
      const canceled = await schedule();
      await cancel(canceled);
      const body = { from: `a@${domain}`, to: 'x@example.org', subject: 'Now', text: 'It works.' };
      const { id: now } = (await scene.api('POST', '/emails', { key: team.key, body })).body;
      for (const id of [sent, canceled, now]) {
        expect(await cancel(id)).toMatchObject(locked);
        expect(await patch(id, { scheduled_at: inMs(DAY_MS) })).toMatchObject(locked);
      }
    });

    it('has only suppressed recipients and was claimed, and returns 409', async () => {
      await scene.api('POST', '/suppressions', { key: team.key, body: { email: 'gone@example.org' } });
      const id = await schedule(MINUTE_MS * 2, 'gone@example.org');
      scene.clock.advance(MINUTE_MS * 3);
      await scene.settled();
      expect(await cancel(id)).toMatchObject(locked);
      expect((await read(id)).last_event).toBe('suppressed');
    });
  });

  it('of another team, no team or another family returns 404', async () => {
    const id = await schedule();
    const other = await scene.team();
    for (const [which, key] of [
      [id, other.key],
      ['019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e77', team.key],
    ] as const) {
      expect((await cancel(which, key)).status).toBe(404);
      expect((await patch(which, { scheduled_at: inMs(DAY_MS) }, key)).status).toBe(404);
    }
    expect((await read(id)).last_event).toBe('scheduled');
    await cancel(id);
  });

  it('cannot be moved or canceled with a sending key', async () => {
    const id = await schedule();
    const key = await team.sendingKey();
    for (const answer of [await cancel(id, key), await patch(id, { scheduled_at: inMs(DAY_MS) }, key)]) {
      expect(answer).toMatchObject({ status: 401, body: { name: 'restricted_api_key' } });
    }
    await cancel(id);
  });

  it('of a deleted domain fails when its time comes', async () => {
    const gone = await team.domain();
    const body = {
      from: `a@${gone.name}`,
      to: 'x@example.org',
      subject: 'x',
      text: 'y',
      scheduled_at: inMs(MINUTE_MS),
    };
    const { id } = (await scene.api('POST', '/emails', { key: team.key, body })).body;
    await scene.api('DELETE', `/domains/${gone.id}`, { key: team.key });
    scene.clock.advance(2 * MINUTE_MS);
    await scene.settled();
    expect((await read(id)).last_event).toBe('failed');
  });
});
