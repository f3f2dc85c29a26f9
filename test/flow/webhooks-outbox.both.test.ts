import { describe, expect, it } from 'vitest';
import { lastEventAt, recordEvents } from '../../src/mail/events/index.ts';
import { insertPayloads } from '../../src/features/webhooks/endpoints/webhook-events.store.ts';
import { loadPayloads } from '../../src/features/webhooks/endpoints/payload.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import { receiveMail } from '../rig/received-mail.ts';
import { plantWebhook } from '../rig/webhooks.ts';
import { line, start, step, supply } from '../api/automations/graph.ts';
import { campaignIn } from './campaign.ts';
import { mailIn } from './mail.ts';
import { happen, loadOutbox } from './webhook-scene.ts';

/** Nothing is sent here: what stands in the outbox stays as it was written. */
const startWriting = (): Promise<Scene> => startScene({ roles: ['http'] });

describe('the webhook outbox', () => {
  it('gets an event in the transaction that records it, or neither is stored', async () => {
    await using scene = await startWriting();
    const team = await scene.team();
    const hook = await plantWebhook(scene, team);
    const { world } = scene.app;
    const event = { teamId: team.id, type: 'email.sent', subjectId: world.ids.uuid(), at: world.clock.now() } as const;
    const write = world.db.tx(async (tx) => {
      await tx.run('update teams set name = ? where id = ?', ['Changed', team.id]);
      await recordEvents(tx, world.ids, [event]);
      expect(await tx.all('select * from webhook_events where webhook_id = ?', [hook])).toHaveLength(1);
      throw new Error('planted');
    });
    await expect(write).rejects.toThrow('planted');
    expect(await loadOutbox(scene, hook)).toEqual([]);
    expect(await scene.events(event.subjectId)).toEqual([]);
    expect(await world.db.get('select name from teams where id = ?', [team.id])).not.toEqual({ name: 'Changed' });
  });

  it('has each event with the time that tells an upgrade that its backup lacks it', async () => {
    await using scene = await startWriting();
    const team = await scene.team();
    await happen(scene, team);
    scene.clock.advance(60_000);
    await happen(scene, team);
    expect(await lastEventAt(scene.app.world.db)).toBe(scene.clock.now());
  });

  it('undoes the change of state when it cannot be written', async () => {
    await using scene = await startWriting();
    const team = await scene.team();
    await plantWebhook(scene, team, { events: ['suppression.added'] });
    await scene.app.world.db.run('alter table webhook_events rename to webhook_events_away');
    const add = () => scene.api('POST', '/suppressions', { key: team.key, body: { email: 'x@example.com' } });
    expect((await add()).status).toBe(503);
    await scene.app.world.db.run('alter table webhook_events_away rename to webhook_events');
    const listed = await scene.api('GET', '/suppressions', { key: team.key });
    expect(listed.body.data).toEqual([]);
    expect((await add()).status).toBe(201);
  });

  it('has for each endpoint the events of its own team that it subscribed to, due at once or parked', async () => {
    await using scene = await startWriting();
    const team = await scene.team();
    const other = await scene.team();
    const sent = await plantWebhook(scene, team);
    const both = await plantWebhook(scene, team, { events: ['email.bounced', 'email.sent'] });
    const disabled = await plantWebhook(scene, team, { status: 'disabled' });
    const foreign = await plantWebhook(scene, other);
    const [first = ''] = await happen(scene, team);
    await happen(scene, team, 1, 'email.bounced');
    await happen(scene, team, 1, 'email.opened');
    await happen(scene, team, 1, 'email.queued');
    const now = scene.clock.now();
    expect(await loadOutbox(scene, sent)).toEqual([
      {
        event_id: first,
        status: 'pending',
        parked: 0,
        attempt_count: 0,
        tries: 0,
        last_http_status: null,
        due_at: now,
      },
    ]);
    expect(await loadOutbox(scene, both)).toHaveLength(2);
    expect(await loadOutbox(scene, disabled)).toMatchObject([{ event_id: first, parked: 1, due_at: null }]);
    expect(await loadOutbox(scene, foreign)).toEqual([]);
  });
});

it('events of the emails of a broadcast are marked as bulk, and those of other mail are not', async () => {
  await using scene = await startScene();
  const { team, domain, broadcast, addContacts } = await campaignIn(scene);
  await addContacts(['a@one.example']);
  await plantWebhook(scene, team, { events: ['email.sent', 'email.delivered'], status: 'disabled' });
  await broadcast();
  await scene.settled();
  const body = { from: `news@${domain.name}`, to: 'b@one.example', subject: 'Hello', text: 'It works.' };
  await scene.api('POST', '/emails', { key: team.key, body });
  await scene.settled();
  const rows = await scene.app.world.db.all<{ type: string; is_bulk: number; subject: string }>(
    `select webhook_events.type, webhook_events.is_bulk, subject from webhook_events join events on events.id = event_id
      join emails on cast(emails.id as text) = events.subject_id order by event_id`,
  );
  expect(rows.map(({ type, is_bulk: isBulk, subject }) => [subject, type, Number(isBulk)])).toEqual([
    ['News', 'email.sent', 1],
    ['News', 'email.delivered', 1],
    ['Hello', 'email.sent', 0],
    ['Hello', 'email.delivered', 0],
  ]);
});

it('events of a run, and of what it does, are marked as bulk', async () => {
  await using scene = await startScene();
  const has = await supply(scene);
  const { team } = has;
  await plantWebhook(scene, team, { events: ['automation.run.completed', 'contact.updated'], status: 'disabled' });
  const rename = step('name', 'contact_update', { first_name: 'Ada' });
  const body = { name: 'A', status: 'enabled', ...line(start, rename) };
  await scene.api('POST', '/automations', { key: team.key, body });
  await scene.api('PATCH', `/contacts/${has.contact}`, { key: team.key, body: { first_name: 'Bob' } });
  await scene.api('POST', '/events/send', { key: team.key, body: { event: 'order', contact_id: has.contact } });
  await scene.settled();
  const rows = await scene.app.world.db.all<{ type: string; is_bulk: number }>(
    'select type, is_bulk from webhook_events order by event_id',
  );
  expect(rows.map(({ type, is_bulk: isBulk }) => [type, Number(isBulk)])).toEqual([
    ['contact.updated', 0],
    ['contact.updated', 1],
    ['automation.run.completed', 1],
  ]);
});

describe('events of several teams that are recorded together', () => {
  it('are sent only to the subscribers of their own team', async () => {
    await using scene = await startWriting();
    const teams = [await scene.team(), await scene.team()];
    const { world } = scene.app;
    const steps = [{ key: 'start', type: 'trigger', config: { event_name: 'rasket:contact.created' } }];
    const subscribed = await Promise.all(
      teams.map(async ({ key, ...team }) => {
        const body = { name: 'A', status: 'enabled', steps, connections: [] };
        const { id } = (await scene.api('POST', '/automations', { key, body })).body;
        return { hook: await plantWebhook(scene, { key, ...team } as never), automation: id as string };
      }),
    );
    const at = world.clock.now();
    const subjects = teams.map(() => world.ids.uuid());
    const data = {
      segment_ids: [],
      audience_id: null,
      created_at: '',
      updated_at: '',
      email: 'a@b.example',
      first_name: null,
      last_name: null,
      unsubscribed: false,
    };
    const events = teams.flatMap(({ id: teamId }, i) => {
      const subjectId = subjects[i] ?? '';
      return [
        { teamId, type: 'email.sent' as const, subjectId, at },
        { teamId, type: 'contact.created' as const, subjectId, at, data: { id: subjectId, ...data } },
      ];
    });
    await world.db.tx((tx) => recordEvents(tx, world.ids, events));
    for (const [i, { hook, automation }] of subscribed.entries()) {
      const told = await world.db.all(
        'select subject_id from webhook_events join events on events.id = event_id where webhook_id = ?',
        [hook],
      );
      expect(told).toEqual([{ subject_id: subjects[i] }]);
      const sql = 'select contact_id from automation_runs where automation_id = ?';
      expect(await world.db.all(sql, [automation])).toEqual([{ contact_id: subjects[i] }]);
    }
  });
});

describe('the body of an event', () => {
  it('has the same bytes whoever reads it first, also when two read at once', async () => {
    await using scene = await startWriting();
    const team = await scene.team();
    await plantWebhook(scene, team);
    const { world } = scene.app;
    const orders = (await happen(scene, team, 50)).map((eventId) => ({ eventId, type: 'email.sent', at: 1 }));
    const [one, two] = await Promise.all([loadPayloads(world, team.id, orders), loadPayloads(world, team.id, orders)]);
    expect(one.size).toBe(50);
    expect(two).toEqual(one);
    expect(await loadPayloads(world, team.id, orders)).toEqual(one);
  });

  it('stays as it was written, whatever happens to the email', async () => {
    await using scene = await startWriting();
    const mail = await mailIn(scene);
    const { world } = scene.app;
    const emailId = await mail.send('a@one.example');
    const at = world.clock.now();
    const sent = { id: world.ids.uuid(), teamId: mail.team.id, type: 'email.sent', subjectId: emailId, at } as const;
    const later = { ...sent, id: world.ids.uuid() };
    await world.db.tx((tx) => recordEvents(tx, world.ids, [sent, later]));
    const loadBody = async (eventId: string): Promise<string> =>
      (await loadPayloads(world, mail.team.id, [{ eventId, type: 'email.sent', at }])).get(eventId) ?? '';
    const before = await loadBody(sent.id);
    expect(JSON.parse(before)).toMatchObject({ data: { subject: 'Hello', to: ['a@one.example'] } });
    await world.db.run('delete from emails where id = ?', [emailId]);
    expect(await loadBody(sent.id)).toBe(before);
    expect(JSON.parse(await loadBody(later.id))).toEqual({
      type: 'email.sent',
      created_at: new Date(at).toISOString(),
      data: {
        email_id: emailId,
        from: '',
        to: [],
        subject: '',
        message_id: '',
        created_at: expect.stringMatching(/^\d{4}-.*Z$/),
      },
    });
    await world.db.run('delete from events where subject_id = ?', [emailId]);
    expect(await loadBody(later.id)).toContain(emailId);
    expect(JSON.parse(await loadBody(world.ids.uuid()))).toMatchObject({ type: 'email.sent', data: {} });
  });
});

it('no data of a received email is written into a payload that was rendered before its deletion', async () => {
  await using scene = await startWriting();
  const { key, id: teamId } = await scene.team();
  const hook = await plantWebhook(scene, { key, id: teamId } as never, { events: ['email.received'] });
  const email = await receiveMail(scene, { id: teamId });
  const { world } = scene.app;
  const [entry] = await loadOutbox(scene, hook);
  const order = { eventId: entry?.event_id ?? '', type: 'email.received', at: scene.clock.now() };
  let isFirst = true;
  const payloads = await loadPayloads(world, teamId, [order], async (rows) => {
    expect(isFirst === rows[0]?.payload.includes('A question')).toBe(true);
    if (isFirst) expect((await scene.api('DELETE', `/emails/receiving/${email}`, { key })).status).toBe(200);
    isFirst = false;
    return world.db.tx((tx) => insertPayloads(tx, rows));
  });
  expect(JSON.parse(payloads.get(order.eventId) ?? '')).toMatchObject({ type: 'email.received', data: {} });
  const stored = await world.db.all<{ payload: string }>('select payload from webhook_payloads where team_id = ?', [
    teamId,
  ]);
  expect(stored.map(({ payload }) => payload)).toEqual([payloads.get(order.eventId)]);
  expect(stored[0]?.payload).not.toContain('A question');
});
