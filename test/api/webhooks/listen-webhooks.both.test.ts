import { Webhook as StandardWebhook } from 'standardwebhooks';
import { Webhook as SvixWebhook } from 'svix';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { recordEvents } from '../../../src/mail/events/index.ts';
import { madeUp } from '../../rig/events.ts';
import { driver } from '../../rig/database.ts';
import { openEventStream, type EventStream, type Frame } from '../../rig/event-stream.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

const suppress = async (scene: Scene, team: Team, email: string): Promise<void> => {
  const { status } = await scene.api('POST', '/suppressions', { key: team.key, body: { email } });
  expect(status).toBe(201);
};
const listEmails = (frames: readonly Frame[]): string[] =>
  frames.map((frame) => (JSON.parse(frame.data.payload as string) as { data: { email: string } }).data.email);

describe('GET /webhooks/listen', () => {
  let scene: Scene;
  beforeAll(async () => void (scene = await startScene()));
  afterAll(() => scene.close());
  const listen = (team: Team, call: { events?: string; lastId?: string } = {}): Promise<EventStream> =>
    openEventStream(scene.url, { key: team.key, ...call });

  const count = async (sql: string, value: string): Promise<number> =>
    Number((await scene.app.world.db.get<{ n: number }>(sql, [value]))?.n);
  const waitingRows = (listenerId: string): Promise<number> =>
    count('select count(*) as n from webhook_listener_events where listener_id = ? and batch is null', listenerId);
  const isLetGo = (listenerId: string): Promise<void> =>
    vi.waitFor(async () => {
      const held = 'select count(*) as n from webhook_listeners where id = ? and holder is not null';
      expect(await count(held, listenerId)).toBe(0);
    });

  describe('returns a stream that', () => {
    it('starts with a secret of its own, and sends what a webhook would get, with valid signatures', async () => {
      const team = await scene.team();
      await using stream = await listen(team);
      expect(stream.status).toBe(200);
      expect(stream.headers).toMatchObject({ 'content-type': 'text/event-stream; charset=utf-8' });
      expect(stream.headers).toHaveProperty('ratelimit-limit');
      const [listening] = await stream.until(1);
      expect(listening).toMatchObject({ event: 'listening', data: { object: 'webhook_listener', resumed: false } });
      const secret = listening?.data.signing_secret as string;
      expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{32}$/);

      await suppress(scene, team, 'someone@example.org');
      const [event] = await stream.until(1, 'event');
      const { id, type, headers, payload } = event!.data as StreamedEvent;
      expect(id).toMatch(/^msg_[0-9a-f]{32}$/);
      expect(type).toBe('suppression.added');
      expect(headers['svix-id']).toBe(id);
      expect(headers['webhook-signature']).toBe(headers['svix-signature']);
      // The libraries use the real clock; the scene's began at the same time.
      expect(() => new SvixWebhook(secret).verify(payload, headers)).not.toThrow();
      expect(new StandardWebhook(secret).verify(payload, headers)).toMatchObject({
        type: 'suppression.added',
        data: { email: 'someone@example.org' },
      });
      const sql = 'select payload from webhook_payloads where team_id = ?';
      expect(payload).toBe((await scene.app.world.db.get<{ payload: string }>(sql, [team.id]))?.payload);
    });

    it('sends the whole life of an email in the order in which it was recorded', async () => {
      const team = await scene.team();
      const domain = await team.domain();
      await using stream = await listen(team, { events: 'email.sent,email.delivered' });
      await stream.until(1);
      const body = { from: `a@${domain.name}`, to: 'b@example.org', subject: 'S', text: 'T' };
      const sent = await scene.api('POST', '/emails', { key: team.key, body });
      const frames = await stream.until(2, 'event');
      expect(frames.map((frame) => frame.data.type as string)).toEqual(['email.sent', 'email.delivered']);
      const payload = JSON.parse(frames[1]?.data.payload as string) as { data: { email_id: string } };
      expect(payload.data.email_id).toBe(sent.body.id);
    });

    it('sends the requested types of its own team', async () => {
      const team = await scene.team();
      const other = await scene.team();
      await using stream = await listen(team, { events: ' suppression.removed, suppression.removed ' });
      const [listening] = await stream.until(1);
      expect(listening?.data.events).toEqual(['suppression.removed']);
      await using others = await listen(other);
      await others.until(1);
      await suppress(scene, team, 'a@example.org');
      await scene.api('DELETE', '/suppressions/a@example.org', { key: team.key });
      await stream.until(1, 'event');
      await suppress(scene, other, 'b@example.org');
      await others.until(1, 'event');
      expect(stream.frames().map((frame) => frame.data.type as string)).toEqual([undefined, 'suppression.removed']);
      expect(listEmails(others.frames().slice(1))).toEqual(['b@example.org']);
    });

    it('is not opened by HEAD, which returns the headers', async () => {
      const team = await scene.team();
      const answer = await scene.api('HEAD', '/webhooks/listen', { key: team.key });
      expect(answer.status).toBe(200);
      expect(answer.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
      expect(await count('select count(*) as n from webhook_listeners where team_id = ?', team.id)).toBe(0);
    });

    it('sends a sign of life every 15 seconds', async () => {
      const team = await scene.team();
      await using stream = await listen(team);
      await stream.until(1);
      for (let beats = 1; beats <= 3; beats++) {
        scene.clock.advance(15_000);
        await stream.untilText((text) => text.endsWith(':\n\n'.repeat(beats)));
      }
    });
  });

  describe('misses nothing:', () => {
    it('an event with an older id than one already sent is still sent', async () => {
      const team = await scene.team();
      await using stream = await listen(team);
      await stream.until(1);
      const { world } = scene.app;
      const early = world.ids.uuid();
      await suppress(scene, team, 'later@example.org');
      await stream.until(1, 'event');
      const event = { id: early, teamId: team.id, type: 'suppression.added' as const, subjectId: early };
      const data = { email: 'earlier@example.org' };
      await world.db.tx((tx) => recordEvents(tx, world.ids, [madeUp({ ...event, data, at: world.clock.now() })]));
      expect(listEmails(await stream.until(2, 'event'))).toEqual(['later@example.org', 'earlier@example.org']);
    });

    // runs only with PostgreSQL: SQLite has one writer, so there is no such transaction
    it.runIf(driver === 'pg')('a transaction that began before the stream and commits later is included', async () => {
      const team = await scene.team();
      const { world } = scene.app;
      const gate = Promise.withResolvers<void>();
      const recorded = Promise.withResolvers<void>();
      const event = { teamId: team.id, type: 'suppression.added' as const, subjectId: world.ids.uuid() };
      const writing = world.db.tx(async (tx) => {
        await recordEvents(tx, world.ids, [
          madeUp({ ...event, data: { email: 'x@example.org' }, at: world.clock.now() }),
        ]);
        recorded.resolve();
        await gate.promise;
      });
      await recorded.promise;
      let isOpen = false;
      const opening = listen(team).then((stream) => ((isOpen = true), stream));
      const listeners = 'select count(*) as n from webhook_listeners where team_id = ?';
      await vi.waitFor(async () => expect(await count(listeners, team.id)).toBe(1));
      // These are many more queries than the stream needs to open, if it did not wait.
      for (let n = 0; n < 50; n++) await count(listeners, team.id);
      expect(isOpen).toBe(false);
      gate.resolve();
      await writing;
      await using stream = await opening;
      expect(stream.status).toBe(200);
    });

    // runs only with PostgreSQL: SQLite bears one process
    it.runIf(driver === 'pg')('events of another process are found by polling', async () => {
      const team = await scene.team();
      const { world } = scene.app;
      await using stream = await listen(team);
      const [listening] = await stream.until(1);
      const id = world.ids.uuid();
      // The event is written without the commit hook, so that this process is not notified.
      await world.db.withKnex(async (knex) => {
        const event = { id, team_id: team.id, type: 'suppression.added', subject_id: id, data: '{"email":"x"}' };
        await knex('events').insert({ ...event, created_at: world.clock.now() });
        const waiting = { listener_id: listening?.data.id as string, event_id: id, type: 'suppression.added' };
        await knex('webhook_listener_events').insert({ ...waiting, created_at: world.clock.now() });
      });
      expect(stream.frames()).toHaveLength(1);
      scene.clock.advance(500);
      expect(listEmails(await stream.until(1, 'event'))).toEqual(['x']);
    });

    it('an interrupted stream resumes where it stopped, with the same secret', async () => {
      const team = await scene.team();
      const first = await listen(team);
      const [listening] = await first.until(1);
      for (const name of ['a', 'b', 'c']) await suppress(scene, team, `${name}@example.org`);
      const [a] = await first.until(3, 'event');
      first.drop();
      await first.ended;
      await suppress(scene, team, 'd@example.org');
      // It resumes as if b and c had been lost on the way.
      await using second = await listen(team, { lastId: a?.id ?? '' });
      const [again, ...events] = await second.until(4);
      expect(again?.data).toMatchObject({ id: listening?.data.id as string, signing_secret: null, resumed: true });
      expect(listEmails(events)).toEqual(['b@example.org', 'c@example.org', 'd@example.org']);
      const { payload, headers } = events[0]!.data as StreamedEvent;
      const secret = listening?.data.signing_secret as string;
      expect(new StandardWebhook(secret).verify(payload, headers)).toMatchObject({ data: { email: 'b@example.org' } });
      // The last frame was received, so it does not come twice.
      second.drop();
      await second.ended;
      await using third = await listen(team, { lastId: events.at(-1)?.id ?? '' });
      await suppress(scene, team, 'e@example.org');
      expect(listEmails(await third.until(1, 'event'))).toEqual(['e@example.org']);
    });

    it('a restart of the server loses nothing', async () => {
      const team = await scene.team();
      const before = await listen(team);
      const [listening] = await before.until(1);
      await scene.restart();
      await before.ended;
      await suppress(scene, team, 'a@example.org');
      await using after = await listen(team, { lastId: listening?.id ?? '' });
      const frames = await after.until(2);
      expect(frames[0]?.data.resumed).toBe(true);
      expect(listEmails(frames.slice(1))).toEqual(['a@example.org']);
    });

    it('a listener is forgotten after five minutes, and the new one says so', async () => {
      const team = await scene.team();
      const stream = await listen(team);
      const [listening] = await stream.until(1);
      const id = listening?.data.id as string;
      stream.drop();
      await stream.ended;
      await isLetGo(id);
      await suppress(scene, team, 'a@example.org');
      const job = scene.app.jobs.find(({ name }) => name === 'forget-listeners');
      scene.clock.advance(300_000);
      await job?.run();
      expect(await waitingRows(id)).toBe(1);
      scene.clock.advance(1);
      await job?.run();
      expect(await waitingRows(id)).toBe(0);
      await using anew = await listen(team, { lastId: listening?.id ?? '' });
      const [again] = await anew.until(1);
      expect(again?.data.resumed).toBe(false);
      expect(again?.data.signing_secret).toMatch(/^whsec_/);
      expect(again?.data.id).not.toBe(id);
    });

    it('a listener of another team cannot be resumed', async () => {
      const team = await scene.team();
      const other = await scene.team();
      await using stream = await listen(team);
      const [listening] = await stream.until(1);
      await using theirs = await listen(other, { lastId: listening?.id ?? '' });
      const [first] = await theirs.until(1);
      expect(first?.data.resumed).toBe(false);
      await suppress(scene, team, 'a@example.org');
      expect(listEmails(await stream.until(1, 'event'))).toEqual(['a@example.org']);
    });
  });

  describe('ends', () => {
    const aKey = async (team: Team): Promise<{ id: string; token: string }> =>
      (await scene.api('POST', '/api-keys', { key: team.key, body: { name: 'Listener' } })).body;
    const closed = (reason: string) => [{ event: 'closed', data: { reason } }];

    it('when its key is revoked, and says so', async () => {
      const team = await scene.team();
      const { id, token } = await aKey(team);
      await using stream = await openEventStream(scene.url, { key: token });
      await stream.until(1);
      await scene.api('DELETE', `/api-keys/${id}`, { key: team.key });
      await suppress(scene, team, 'a@example.org');
      await stream.ended;
      expect(stream.frames().slice(1)).toMatchObject(closed('key_revoked'));
    });

    it('when its key is revoked, even without an event', async () => {
      const team = await scene.team();
      const { id, token } = await aKey(team);
      await using stream = await openEventStream(scene.url, { key: token });
      await stream.until(1);
      await scene.api('DELETE', `/api-keys/${id}`, { key: team.key });
      scene.clock.advance(15_000);
      await stream.ended;
      expect(stream.frames().slice(1)).toMatchObject(closed('key_revoked'));
    });

    it('when another connection takes it over, and that one continues', async () => {
      const team = await scene.team();
      await using first = await listen(team);
      const [listening] = await first.until(1);
      await using second = await listen(team, { lastId: listening?.id ?? '' });
      await second.until(1);
      await suppress(scene, team, 'a@example.org');
      expect(listEmails(await second.until(1, 'event'))).toEqual(['a@example.org']);
      await first.ended;
      expect(first.frames().slice(1)).toMatchObject(closed('lost'));
    });

    it('when its reader takes nothing for a minute, and missed events stay in the database', async () => {
      const team = await scene.team();
      const { world } = scene.app;
      await using stream = await listen(team);
      const [listening] = await stream.until(1);
      const id = listening?.data.id as string;
      stream.pause();
      const data = { email: 'x'.repeat(200_000) };
      const events = Array.from({ length: 300 }, () => {
        return madeUp({ teamId: team.id, type: 'suppression.added', subjectId: id, data, at: world.clock.now() });
      });
      await world.db.tx((tx) => recordEvents(tx, world.ids, events));
      // Sockets take some megabytes; then nothing moves any more.
      let before = 300;
      let unchanged = 0;
      await vi.waitFor(
        async () => {
          const now = await waitingRows(id);
          // An unchanged value once may be a busy machine.
          unchanged = now === before && now < 300 ? unchanged + 1 : 0;
          before = now;
          expect(unchanged).toBe(4);
        },
        { interval: 400 },
      );
      expect(before).toBeGreaterThan(100);
      for (let beats = 0; beats < 5; beats++) scene.clock.advance(15_000);
      await isLetGo(id);
      // A busy machine may have passed some more to the sockets at the end; what was not passed stays.
      const left = await waitingRows(id);
      expect(left).toBeGreaterThan(100);
      expect(left).toBeLessThanOrEqual(before);
      await scene.settled();
      expect(await waitingRows(id)).toBe(left);
    });
  });

  describe('returns 422', () => {
    it('beyond ten open streams of a team, until one ends', async () => {
      const team = await scene.team();
      const streams: EventStream[] = [];
      for (let n = 0; n < 10; n++) streams.push(await listen(team));
      await Promise.all(streams.map((stream) => stream.until(1)));
      const refused = await scene.api('GET', '/webhooks/listen', { key: team.key });
      expect(refused).toMatchObject({ status: 422, body: { name: 'validation_error' } });
      expect(refused.body.message).toBe('A team may have at most 10 open listeners; close one first.');
      const [listening] = streams[0]?.frames() ?? [];
      streams[0]?.drop();
      await isLetGo(listening?.data.id as string);
      streams.push(await listen(team));
      expect(streams.at(-1)?.status).toBe(200);
      for (const stream of streams) stream.drop();
      await Promise.all(streams.map((stream) => stream.ended));
    });

    it.each([
      ['', '""'],
      ['email.queued', '"email.queued"'],
      ['email.sent,', '""'],
      ['email.sent;email.bounced', '"email.sent;email.bounced"'],
    ])('for events=%s, which names an unknown event type', async (events, named) => {
      const team = await scene.team();
      const answer = await scene.api('GET', `/webhooks/listen?events=${encodeURIComponent(events)}`, { key: team.key });
      expect(answer).toMatchObject({ status: 422, body: { name: 'invalid_parameter' } });
      expect(answer.body.message).toContain(`events has ${named}, which is not an event type`);
      expect(answer.body.message).toContain('email.sent');
    });

    it('for a list longer than 2000 characters', async () => {
      const team = await scene.team();
      const padded = (chars: number): string => `${' '.repeat(chars - 10)}email.sent`;
      const answer = await scene.api('GET', `/webhooks/listen?events=${encodeURIComponent(padded(2001))}`, {
        key: team.key,
      });
      expect(answer).toMatchObject({ status: 422, body: { name: 'invalid_parameter' } });
      expect(answer.body.message).toContain('at most 2000 characters');
      await using stream = await listen(team, { events: padded(2000) });
      expect(stream.status).toBe(200);
    });

    const zeros = '0'.repeat(32);
    it.each([
      'x',
      'lsn_1.1.1',
      `lsn_${zeros}.-1.${zeros}`,
      `lsn_${zeros}.1.${zeros.slice(1)}`,
      `lsn_${zeros}.1.${zeros}0`,
    ])('for the Last-Event-ID %s', async (lastId) => {
      const team = await scene.team();
      const headers = { 'last-event-id': lastId };
      const answer = await scene.api('GET', '/webhooks/listen', { key: team.key, headers });
      expect(answer).toMatchObject({ status: 422, body: { name: 'invalid_parameter' } });
      expect(answer.body.message).toContain('Last-Event-ID');
    });
  });

  it('returns 401 for a sending key', async () => {
    const team = await scene.team();
    const answer = await scene.api('GET', '/webhooks/listen', { key: await team.sendingKey() });
    expect(answer).toMatchObject({ status: 401, body: { name: 'restricted_api_key' } });
  });
});

interface StreamedEvent {
  id: string;
  type: string;
  headers: Record<string, string>;
  payload: string;
}
