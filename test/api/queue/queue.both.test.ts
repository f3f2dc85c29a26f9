import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createOperator, listOperators, revokeOperator } from '../../../src/tenancy/operators/index.ts';
import { administerTeam } from '../../../src/tenancy/teams/index.ts';
import { advanceToNextAttempt, HOUR, mailIn, listMessages, MINUTE, type Mail } from '../../flow/mail.ts';
import { startScene, type Scene } from '../../rig/scene.ts';
import { keyed, formatLabel, operatorOperations, sampleCall } from '../conventions/sample-calls.ts';

let scene: Scene;
let mail: Mail;
let token: string;
beforeAll(async () => {
  scene = await startScene();
  mail = await mailIn(scene);
  token = await scene.operator();
});
afterAll(() => scene.close());

const NO_STATES = {
  waiting: 0,
  scheduled: 0,
  retrying: 0,
  awaits_domain: 0,
  held: 0,
  team_suspended: 0,
  under_way: 0,
  in_doubt: 0,
};

let count = 0;
const freshName = (): string => `q${++count}.example`;
const ask = async (method: string, path: string, body?: Record<string, unknown>, key = token) =>
  scene.api(method, `/operator/queue${path}`, { key, ...(body ? { body } : {}) });
const fetchRow = async (destination: string) =>
  (await ask('GET', '')).body.destinations.find((row: { destination: string }) => row.destination === destination);
const listed = async (query: string) => (await ask('GET', `/deliveries?${query}`)).body.data;

/** Sends an email that was tried once and waits for its second attempt. */
async function deferred(destination: string): Promise<string> {
  const id = await mail.send(`tempfail@${destination}`);
  await scene.settled();
  return id;
}

describe('access to the queue', () => {
  it('ends when an operator is revoked, who is listed with the time', async () => {
    const { world } = scene.app;
    const bob = await createOperator(world, 'Bob');
    expect((await ask('GET', '', undefined, bob.token)).status).toBe(200);
    await revokeOperator(world, bob.id);
    expect((await ask('GET', '', undefined, bob.token)).status).toBe(403);
    const listedAs = (await listOperators(world.db)).find(({ id }) => id === bob.id);
    expect(listedAs).toMatchObject({ name: 'Bob', revoked_at: scene.clock.now() });
  });

  it('is separate for operators and teams, and neither reaches the routes of the other', async () => {
    const sending = await mail.team.sendingKey();
    for (const operation of operatorOperations) {
      const { method, path, body } = sampleCall(operation);
      const as = async (key?: string) => (await scene.api(method, path, { key, body })).body.name;
      expect(await as(), formatLabel(operation)).toBe('missing_api_key');
      expect(await as('rkop_unknown'), formatLabel(operation)).toBe('invalid_api_key');
      expect(await as(mail.team.key), formatLabel(operation)).toBe('invalid_permission');
      expect(await as(sending), formatLabel(operation)).toBe('restricted_api_key');
    }
    for (const operation of keyed) {
      const { method, path, body } = sampleCall(operation);
      const answer = await scene.api(method, path, { key: token, body });
      expect(answer, formatLabel(operation)).toMatchObject({ status: 403, body: { name: 'invalid_permission' } });
    }
  });

  it('uses a token stored as a hash, which is not accepted as an SMTP password or a key', async () => {
    const rows = await scene.app.world.db.all('select * from operators');
    expect(JSON.stringify(rows)).not.toContain(token);
    expect((await scene.api('GET', '/domains', { key: token })).body.message).toContain('use an API key of the team');
  });
});

describe('waiting mail', () => {
  it('is listed by destination and state, with the times and the reason', async () => {
    const destination = freshName();
    const at = scene.clock.now();
    const id = await deferred(destination);
    await mail.send(`x@${destination}`, { scheduled_at: new Date(at + HOUR).toISOString() });
    const row = await fetchRow(destination);
    expect(row).toMatchObject({
      deliveries: 2,
      oldest_at: new Date(at).toISOString(),
      states: { ...NO_STATES, scheduled: 1, retrying: 1 },
      hold_id: null,
      last_attempt: { outcome: 'deferred', reason: 'refused_for_now', reply: '451 4.3.0 Try again later' },
    });
    expect(Date.parse(row.next_attempt_at)).toBeGreaterThan(at);
    expect(Date.parse(row.next_attempt_at)).toBeLessThan(at + HOUR);
    const [later, tried] = await listed(`destination=${destination.toUpperCase()}`);
    expect(later).toMatchObject({ state: 'scheduled', attempts: 0, last_attempt: null, team_id: mail.team.id });
    expect(tried).toMatchObject({
      email_id: id,
      state: 'retrying',
      attempts: 1,
      recipients: [`tempfail@${destination}`],
    });
    expect(tried.last_attempt.explanation).toMatch(/\.$/);
    expect(await listed(`destination=${destination}&state=retrying`)).toEqual([tried]);
    expect(await listed(`email_id=${id}`)).toEqual([tried]);
    expect((await listed(`team_id=${mail.team.id}`)).length).toBeGreaterThan(1);
    expect(await listed(`team_id=${id}`)).toEqual([]);
  });

  it('pauses while its team is suspended, and shows that', async () => {
    const destination = freshName();
    await deferred(destination);
    const { world } = scene.app;
    await administerTeam(world, mail.team.id, { riskState: 'suspended' });
    try {
      expect(await fetchRow(destination)).toMatchObject({
        next_attempt_at: null,
        states: { ...NO_STATES, team_suspended: 1 },
      });
      const rests = { state: 'team_suspended', until: null, team_id: mail.team.id };
      expect(await listed(`destination=${destination}`)).toEqual([expect.objectContaining(rests)]);
      expect(await listed(`destination=${destination}&state=retrying`)).toEqual([]);
    } finally {
      await administerTeam(world, mail.team.id, { riskState: 'normal' });
    }
    expect(await listed(`destination=${destination}&state=retrying`)).toHaveLength(1);
  });

  it('is paged in both directions', async () => {
    const destination = freshName();
    const scheduled_at = new Date(scene.clock.now() + HOUR).toISOString();
    for (let i = 0; i < 5; i++) await mail.send(`x@${destination}`, { scheduled_at });
    const filter = `destination=${destination}&limit=2`;
    const all = await listed(`destination=${destination}`);
    const first = await ask('GET', `/deliveries?${filter}`);
    expect(first.body).toMatchObject({ has_more: true, data: all.slice(0, 2) });
    const second = await ask('GET', `/deliveries?${filter}&after=${all[1].id}`);
    expect(second.body).toMatchObject({ has_more: true, data: all.slice(2, 4) });
    expect((await ask('GET', `/deliveries?${filter}&after=${all[3].id}`)).body).toMatchObject({
      has_more: false,
      data: all.slice(4),
    });
    expect((await ask('GET', `/deliveries?${filter}&before=${all[3].id}`)).body).toMatchObject({
      has_more: true,
      data: all.slice(1, 3),
    });
  });
});

describe('hold and release', () => {
  it('hold a destination, including later mail, and release it with its full time for retries', async () => {
    const destination = freshName();
    const id = await deferred(destination);
    const reason = 'Their server is being moved';
    const made = await ask('POST', '/holds', { destination: destination.toUpperCase(), reason });
    expect(made).toMatchObject({ status: 201, body: { destination, team_id: null, email_id: null, reason } });
    expect((await ask('POST', '/holds', { destination, reason: 'again' })).body.id).toBe(made.body.id);
    const later = await mail.send(`x@${destination}`);
    await advanceToNextAttempt(scene, id);
    scene.clock.advance(40 * HOUR);
    await scene.settled();
    expect(listMessages(scene, later)).toEqual([]);
    const row = await fetchRow(destination);
    expect(row).toMatchObject({ states: { held: 2 }, hold_id: made.body.id, hold_reason: reason });
    for (const one of await listed(`destination=${destination}`)) expect(one).toMatchObject({ hold_reason: reason });
    const { body } = await scene.api('GET', `/emails/${later}/attempts`, { key: mail.team.key });
    expect(body.pending).toMatchObject([{ state: 'held', attempts: 0, until: null }]);

    scene.clock.advance(20 * HOUR);
    const released = await ask('DELETE', `/holds/${made.body.id}`);
    expect(released.body).toEqual({ object: 'queue_hold', id: made.body.id, deleted: true, deliveries: 2 });
    await scene.settled();
    expect(listMessages(scene, later)).toHaveLength(1);
    // Two days of retries have passed, none of which counts for this email.
    expect(await mail.account(id)).toMatchObject({ state: 'delivery_delayed', waiting: [`tempfail@${destination}`] });
    expect((await ask('DELETE', `/holds/${made.body.id}`)).status).toBe(404);
  });

  it('hold a team and one email without affecting others', async () => {
    const other = await mailIn(scene);
    const held = await ask('POST', '/holds', { team_id: other.team.id, reason: 'A stolen key' });
    const theirs = await other.send('x@example.net');
    const scheduled_at = new Date(scene.clock.now() + MINUTE).toISOString();
    const one = await mail.send('x@example.net', { scheduled_at });
    const holdOne = await ask('POST', '/holds', { email_id: one, reason: 'Wrong text' });
    const two = await mail.send('y@example.net', { scheduled_at });
    scene.clock.advance(MINUTE);
    await scene.settled();
    expect([theirs, one, two].map((id) => listMessages(scene, id).length)).toEqual([0, 0, 1]);
    const holds = (await ask('GET', '/holds')).body.data;
    expect(holds.map((hold: { id: string }) => hold.id)).toEqual([holdOne.body.id, held.body.id]);
    for (const { id } of holds) expect((await ask('DELETE', `/holds/${id}`)).body.deliveries).toBe(1);
    await scene.settled();
    expect([theirs, one, two].map((id) => listMessages(scene, id).length)).toEqual([1, 1, 1]);
  });

  it('still let a team cancel or move a held email', async () => {
    const scheduled_at = new Date(scene.clock.now() + MINUTE).toISOString();
    const gone = await mail.send('x@held.example', { scheduled_at });
    const moved = await mail.send('y@held.example', { scheduled_at });
    const hold = await ask('POST', '/holds', { destination: 'held.example', reason: 'Wait' });
    scene.clock.advance(MINUTE);
    await scene.settled();
    expect((await scene.api('POST', `/emails/${gone}/cancel`, { key: mail.team.key })).status).toBe(200);
    const at = new Date(scene.clock.now() + HOUR).toISOString();
    expect(
      (await scene.api('PATCH', `/emails/${moved}`, { key: mail.team.key, body: { scheduled_at: at } })).status,
    ).toBe(200);
    await ask('DELETE', `/holds/${hold.body.id}`);
    await scene.settled();
    expect(listMessages(scene, moved)).toEqual([]);
    scene.clock.advance(HOUR);
    await scene.settled();
    expect([listMessages(scene, gone).length, listMessages(scene, moved).length]).toEqual([0, 1]);
  });

  it('release mail of an ended hold by a regular job', async () => {
    const hold = await ask('POST', '/holds', { destination: 'killed.example', reason: 'Wait' });
    const id = await mail.send('x@killed.example');
    await scene.settled();
    await scene.app.world.db.run('delete from queue_holds where id = ?', [hold.body.id]);
    const job = scene.app.jobs.find(({ name }) => name === 'release-ended-holds');
    await job?.run();
    scene.app.queue?.wake();
    await scene.settled();
    expect(listMessages(scene, id)).toHaveLength(1);
  });

  it('refuse an unknown or ambiguous target, and name what is required', async () => {
    const nobody = '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2eff';
    const stranger = await ask('POST', '/holds', { team_id: nobody, reason: 'x' });
    expect(stranger).toMatchObject({ status: 422, body: { message: expect.stringContaining('no team has this id') } });
    expect((await ask('POST', '/holds', { email_id: nobody, reason: 'x' })).status).toBe(422);
    const both = await ask('POST', '/drop', { team_id: nobody, destination: 'a.example', reason: 'x' });
    expect(both).toMatchObject({
      status: 422,
      body: { message: expect.stringContaining('got destination and team_id') },
    });
    expect((await ask('POST', '/retry', {})).body.message).toContain(
      'exactly one of destination, team_id, email_id and all; got none.',
    );
    expect((await ask('POST', '/retry', { all: true, destination: 'a.example' })).body.message).toContain(
      'got all and another.',
    );
    expect((await ask('POST', '/drop', { all: true, reason: 'x' })).status).toBe(400);
    expect((await ask('POST', '/drop', { destination: 'a.example' })).status).toBe(422);
    expect((await ask('POST', '/drop', { destination: 'a.example', reason: 'two\nlines' })).status).toBe(400);
  });
});

describe('an immediate retry', () => {
  it('retries mail that waits for its next attempt, but no scheduled or held mail', async () => {
    const destination = freshName();
    const id = await deferred(destination);
    const scheduled_at = new Date(scene.clock.now() + HOUR).toISOString();
    const later = await mail.send(`x@${destination}`, { scheduled_at });
    expect((await ask('POST', '/retry', { destination })).body).toEqual({
      object: 'queue_retry',
      deliveries: 1,
      held: 0,
      holds: [],
    });
    await scene.settled();
    expect((await listed(`email_id=${id}`))[0]).toMatchObject({ attempts: 2, state: 'retrying' });
    expect((await listed(`email_id=${later}`))[0]).toMatchObject({ attempts: 0, state: 'scheduled' });
    expect((await ask('POST', '/retry', { email_id: later })).body.deliveries).toBe(0);
  });

  it('retries the mail of every destination with all, and names every hold in the way', async () => {
    const ids = [await deferred(freshName()), await deferred(freshName())];
    const held = freshName();
    await deferred(held);
    const { body: hold } = await ask('POST', '/holds', { destination: held, reason: 'Moves' });
    const { body } = await ask('POST', '/retry', { all: true });
    expect(body.deliveries).toBeGreaterThanOrEqual(2);
    expect(body.held).toBeGreaterThanOrEqual(1);
    expect(body.holds).toContainEqual(hold);
    await scene.settled();
    for (const id of ids) expect((await listed(`email_id=${id}`))[0]).toMatchObject({ attempts: 2 });
    await ask('DELETE', `/holds/${hold.id}`);
  });

  it('names the holds that keep mail from being tried, before and after they took it', async () => {
    const destination = freshName();
    const id = await deferred(destination);
    const other = await deferred(destination);
    const { body: hold } = await ask('POST', '/holds', { email_id: id, reason: 'Wrong list' });
    const answer = { object: 'queue_retry', deliveries: 1, held: 1, holds: [hold] };
    expect((await ask('POST', '/retry', { destination })).body).toEqual(answer);
    await advanceToNextAttempt(scene, id);
    expect(await listed(`email_id=${id}`)).toMatchObject([{ state: 'held', attempts: 1 }]);
    expect((await ask('POST', '/retry', { destination })).body).toEqual(answer);
    expect((await ask('POST', '/retry', { email_id: other })).body).toMatchObject({ held: 0, holds: [] });
    await ask('DELETE', `/holds/${hold.id}`);
    await scene.settled();
    expect((await ask('POST', '/retry', { email_id: id })).body).toMatchObject({ deliveries: 1, held: 0, holds: [] });
  });
});

describe('dropping mail', () => {
  it('ends an email for good with its event, its state and the reason', async () => {
    const destination = freshName();
    const id = await deferred(destination);
    const dropped = await ask('POST', '/drop', { email_id: id, reason: 'Sent by a stolen key' });
    expect(dropped.body).toEqual({ object: 'queue_drop', deliveries: 1, left: 0 });
    expect(await mail.account(id)).toMatchObject({ state: 'failed', waiting: [], suppressed: [] });
    expect(await mail.detail(id, 'email.failed')).toEqual({
      to: [`tempfail@${destination}`],
      failed: { reason: 'dropped_by_operator', message: 'Sent by a stolen key' },
    });
    const events = await scene.api('GET', `/emails/${id}/events`, { key: mail.team.key });
    expect(events.body.data.find((event: { type: string }) => event.type === 'email.failed')).toMatchObject({
      explanation: 'The operator of this server removed the message from the queue.',
      advice: 'Ask the operator before sending it again.',
    });
    expect((await ask('POST', '/drop', { email_id: id, reason: 'again' })).body.deliveries).toBe(0);
    expect(scene.log.join('\n')).toContain('dropped_by_operator');
  });

  it('includes all mail to a destination, even scheduled, but not what was handed over', async () => {
    const destination = freshName();
    const doubtful = await mail.send(`drop-after-dot@${destination}`);
    await scene.settled();
    const scheduled_at = new Date(scene.clock.now() + HOUR).toISOString();
    const later = await mail.send([`x@${destination}`, 'y@elsewhere.example'], { scheduled_at });
    expect((await ask('POST', '/drop', { destination, reason: 'x' })).body).toMatchObject({ deliveries: 1, left: 1 });
    expect(await mail.account(later)).toMatchObject({ state: 'failed', waiting: ['y@elsewhere.example'] });
    expect(await mail.account(doubtful)).toMatchObject({ waiting: [`drop-after-dot@${destination}`] });
    scene.clock.advance(HOUR);
    await scene.settled();
    expect(listMessages(scene, later).map(({ rcptTo }) => rcptTo)).toEqual([['y@elsewhere.example']]);
  });
});
