// A team pauses a broadcast at any point of its life and resumes it: nobody is left out, and nobody gets it twice.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { SCOPE_NAMES } from '../../src/contract/index.ts';
import { createOauth } from '../rig/oauth.ts';
import { createPeople } from '../rig/people.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import { campaignIn, type Campaign } from './campaign.ts';
import { HOUR, MINUTE, SECOND } from './mail.ts';

/** Servers of shut.example take nothing as long as `isShut`; nobody lives at bad.example. */
const sink = {
  isShut: false,
  script(command: string): string | undefined {
    if (!command.startsWith('RCPT')) return undefined;
    if (command.includes('@bad.example')) return '550 5.1.1 No such user';
    return sink.isShut && command.includes('@shut.example') ? '450 4.2.1 Later' : undefined;
  },
};

let scene: Scene;
beforeAll(async () => {
  scene = await startScene({
    sink,
    startAt: '2026-10-24T11:00:00Z',
    config: { broadcasts: { hold_after: 4 }, delivery: { retry_minutes: [5] } },
  });
});
afterAll(() => scene.close());
beforeEach(() => {
  sink.isShut = false;
});

const many = (count: number, domain: string): string[] => Array.from({ length: count }, (_, i) => `r${i}@${domain}`);
const listArrived = (subject: string): string[] =>
  scene.sink.messages
    .filter(({ data }) => data.includes(`Subject: ${subject}\r\n`))
    .flatMap(({ rcptTo }) => rcptTo)
    .sort();
async function pass(ms: number, step = Math.min(ms, MINUTE)): Promise<void> {
  for (let passed = 0; passed < ms; passed += step) {
    scene.clock.advance(step);
    await scene.settled();
  }
}
const pause = async ({ call }: Campaign, id: string): Promise<void> => {
  const { status, text } = await call('POST', `/broadcasts/${id}/pause`);
  expect(status, text).toBe(200);
};
const resume = async ({ call }: Campaign, id: string): Promise<object> => {
  const { status, text, body } = await call('POST', `/broadcasts/${id}/resume`);
  expect(status, text).toBe(200);
  return body as object;
};
const refusal = async ({ call }: Campaign, id: string, verb: string): Promise<string> => {
  const { status, body } = await call('POST', `/broadcasts/${id}/${verb}`);
  return `${status} ${(body as { message: string }).message}`;
};

/** A broadcast of which one email in five seconds is created. */
async function slow(subject: string, emails: readonly string[]): Promise<{ campaign: Campaign; id: string }> {
  const campaign = await campaignIn(scene);
  await campaign.addContacts(emails.toReversed());
  const id = await campaign.broadcast({ subject, rate_per_minute: 12 });
  await scene.settled();
  await pass(10 * SECOND, SECOND);
  return { campaign, id };
}

/** All emails of the broadcast are created, and those to shut.example wait in the queue. */
async function queued(subject: string): Promise<{ campaign: Campaign; id: string }> {
  sink.isShut = true;
  const campaign = await campaignIn(scene);
  await campaign.addContacts([...many(2, 'one.example'), ...many(3, 'shut.example')]);
  const id = await campaign.broadcast({ subject });
  await scene.settled();
  expect(await campaign.get(id)).toMatchObject({ status: 'sent', recipients: 5 });
  expect(listArrived(subject)).toEqual(many(2, 'one.example'));
  return { campaign, id };
}

describe('a paused broadcast', () => {
  it('creates no emails until it is resumed, and each contact gets it once', async () => {
    const emails = many(6, 'one.example');
    const { campaign, id } = await slow('Slow', emails);
    const before = listArrived('Slow');
    expect(before.length).toBeGreaterThan(0);
    expect(before.length).toBeLessThan(6);
    await pause(campaign, id);
    const [key] = (await campaign.read('/api-keys')).data as { name: string }[];
    const paused = { since: new Date(scene.clock.now()).toISOString(), by: { kind: 'api_key', name: key?.name } };
    const { recipients } = await campaign.get(id);
    await pass(HOUR);
    expect(await campaign.get(id)).toMatchObject({ status: 'sending', recipients, waiting_reason: null, paused });
    const list = (await campaign.read('/broadcasts')).data as object[];
    expect(list[0]).toMatchObject({ id, status: 'sending', paused });
    expect(listArrived('Slow')).toEqual(before);
    expect(await resume(campaign, id)).toEqual({ object: 'broadcast', id, held: null });
    await pass(MINUTE, SECOND);
    expect(await campaign.get(id)).toMatchObject({ status: 'sent', recipients: 6, paused: null });
    expect(listArrived('Slow')).toEqual(emails);
  });

  it('rolls back a page whose contacts were read before the pause was answered', async () => {
    const campaign = await campaignIn(scene);
    await campaign.addContacts(many(3, 'one.example'));
    const at = new Date(scene.clock.now() + HOUR).toISOString();
    const id = await campaign.broadcast({ subject: 'Race', scheduled_at: at });
    const { db } = scene.app.world;
    const { all } = db;
    let pausing: Promise<void> | undefined;
    db.all = (async (...args: Parameters<typeof all>) => {
      const rows = await all.apply(db, args);
      if (pausing === undefined && /from contacts/.test(args[0]) && rows.length === 3) {
        pausing = pause(campaign, id);
        await pausing;
      }
      return rows;
    }) as typeof all;
    await pass(HOUR, HOUR);
    Object.assign(db, { all });
    await pausing;
    await pass(HOUR, HOUR);
    expect(await campaign.get(id)).toMatchObject({ status: 'sending', recipients: 0, paused: { by: {} } });
    expect(listArrived('Race')).toEqual([]);
    await resume(campaign, id);
    await pass(10 * SECOND, SECOND);
    expect(await campaign.get(id)).toMatchObject({ status: 'sent', recipients: 3 });
    expect(listArrived('Race')).toEqual(many(3, 'one.example'));
  });

  it('keeps its emails in the queue, and delivers each of them once when it is resumed', async () => {
    const { campaign, id } = await queued('Queue');
    await pause(campaign, id);
    sink.isShut = false;
    await pass(20 * MINUTE);
    expect(listArrived('Queue')).toEqual(many(2, 'one.example'));
    const held = await scene.api('GET', '/operator/queue/deliveries?state=held', { key: await scene.operator() });
    const reasons = (held.body.data as { hold_reason: string }[]).map(({ hold_reason: reason }) => reason);
    expect(reasons).toEqual(Array(3).fill('paused'));
    await scene.restart();
    await scene.app.jobs.find(({ name }) => name === 'release-ended-holds')?.run();
    await pass(MINUTE);
    expect(listArrived('Queue')).toHaveLength(2);
    await resume(campaign, id);
    await pass(MINUTE, SECOND);
    expect(listArrived('Queue')).toEqual([...many(2, 'one.example'), ...many(3, 'shut.example')].sort());
    expect(await campaign.get(id)).toMatchObject({ status: 'sent', paused: null });
  });

  it('does not mail contacts that unsubscribed during the pause, neither from the queue nor from later pages', async () => {
    const first = await queued('Left queue');
    await pause(first.campaign, first.id);
    const second = await slow('Left pages', many(6, 'one.example'));
    await pause(second.campaign, second.id);
    sink.isShut = false;
    for (const [{ campaign }, email] of [
      [first, 'r1@shut.example'],
      [second, 'r5@one.example'],
    ] as const) {
      expect((await campaign.call('PATCH', `/contacts/${email}`, { unsubscribed: true })).status).toBe(200);
    }
    await resume(first.campaign, first.id);
    await resume(second.campaign, second.id);
    await pass(6 * MINUTE, 5 * SECOND);
    expect(listArrived('Left queue')).toEqual([...many(2, 'one.example'), 'r0@shut.example', 'r2@shut.example'].sort());
    expect(listArrived('Left pages')).toEqual(many(5, 'one.example'));
    expect(await second.campaign.get(second.id)).toMatchObject({ status: 'sent', recipients: 5, excluded: 1 });
  });

  it('keeps the first person and time when it is paused again, and the audit log has the changes alone', async () => {
    const { campaign, id } = await slow('Twice', many(4, 'one.example'));
    const owner = await createPeople(scene).person({ team: campaign.team, role: 'owner' });
    expect((await owner.call('POST', `/broadcasts/${id}/pause`)).status).toBe(200);
    const { paused } = await campaign.get(id);
    expect(paused).toMatchObject({ by: { kind: 'user', name: owner.email } });
    await pass(MINUTE);
    await pause(campaign, id);
    expect((await campaign.get(id)).paused).toEqual(paused);
    await resume(campaign, id);
    const entries = (await campaign.read('/audit')).data as { action: string; subject_id: string }[];
    const actions = entries.filter(({ subject_id: subject }) => subject === id).map(({ action }) => action);
    expect(actions).toEqual(['broadcast.resumed', 'broadcast.paused', 'broadcast.created']);
    expect(await refusal(campaign, id, 'resume')).toMatch(/^403 .*only a broadcast that is paused or on hold/);
  });

  it('that is canceled removes its emails from the queue, and can be neither resumed nor paused', async () => {
    const { campaign, id } = await queued('Canceled');
    await pause(campaign, id);
    sink.isShut = false;
    await pass(6 * MINUTE);
    expect((await campaign.call('POST', `/broadcasts/${id}/cancel`)).status).toBe(200);
    expect(await campaign.get(id)).toMatchObject({ status: 'canceled', paused: null });
    expect(await refusal(campaign, id, 'resume')).toMatch(/^403 This broadcast is canceled/);
    expect(await refusal(campaign, id, 'pause')).toMatch(/^403 This broadcast is canceled/);
    await pass(HOUR);
    expect(listArrived('Canceled')).toEqual(many(2, 'one.example'));
    const emails = (await campaign.read('/emails?limit=100')).data as { to: string[]; last_event: string }[];
    const states = emails.filter(({ to }) => to[0]?.endsWith('@shut.example')).map(({ last_event: state }) => state);
    expect(states).toEqual(Array(3).fill('failed'));
  });

  it('can be neither a draft nor one whose emails have all left', async () => {
    const campaign = await campaignIn(scene);
    await campaign.addContacts(['a@one.example']);
    const draft = await campaign.broadcast({ send: false });
    const sent = await campaign.broadcast({ subject: 'Over' });
    await scene.settled();
    const rule = 'only a broadcast that is scheduled, queued, being sent or in the mail queue can be paused.';
    expect(await refusal(campaign, draft, 'pause')).toBe(`403 This broadcast is a draft; ${rule}`);
    expect(await refusal(campaign, sent, 'pause')).toBe(`403 This broadcast is sent; ${rule}`);
  });
});

describe('a pause of a scheduled broadcast', () => {
  const inAnHour = (): string => new Date(scene.clock.now() + HOUR).toISOString();

  it.each([
    ['before its time, which is kept', 30, 0],
    ['after its time, and is sent at once', 24 * 60, 1],
  ])('ends %s', async (what, minutes, arrivals) => {
    const campaign = await campaignIn(scene);
    await campaign.addContacts(['a@one.example']);
    const id = await campaign.broadcast({ subject: what, scheduled_at: inAnHour() });
    await pause(campaign, id);
    expect(await campaign.get(id)).toMatchObject({ status: 'scheduled', paused: { by: { kind: 'api_key' } } });
    await pass(minutes * MINUTE, 30 * MINUTE);
    expect(listArrived(what)).toEqual([]);
    await resume(campaign, id);
    await scene.settled();
    expect(listArrived(what)).toHaveLength(arrivals);
    await pass(31 * MINUTE, MINUTE);
    expect(listArrived(what)).toEqual(['a@one.example']);
    expect(await campaign.get(id)).toMatchObject({ status: 'sent', held: null });
  });

  it('lets contacts whose local hour has passed get it at once, and the others at their hour', async () => {
    const campaign = await campaignIn(scene);
    await campaign.call('POST', '/contact-properties', { key: 'timezone', type: 'string' });
    for (const [name, timezone] of [
      ['first', 'Etc/GMT-3'],
      ['second', 'Etc/GMT-2'],
      ['third', 'Etc/GMT-1'],
      ['last', 'Etc/GMT+8'],
    ]) {
      await campaign.call('POST', '/contacts', { email: `${name}@one.example`, properties: { timezone } });
    }
    const at = new Date(scene.clock.now() + 4 * HOUR).toISOString();
    const id = await campaign.broadcast({ subject: 'Local', scheduled_at: at, local_time: true });
    await pass(65 * MINUTE);
    expect(listArrived('Local')).toEqual(['first@one.example']);
    await pause(campaign, id);
    expect(await campaign.get(id)).toMatchObject({ waiting_reason: null, next_at: null });
    // The hours of two zones pass, the second of them more than the time after which a broadcast counts as overdue.
    await pass(9 * HOUR, HOUR);
    expect(listArrived('Local')).toEqual(['first@one.example']);
    await resume(campaign, id);
    await pass(MINUTE, SECOND);
    expect(listArrived('Local')).toEqual(['first@one.example', 'second@one.example', 'third@one.example']);
    expect(await campaign.get(id)).toMatchObject({ status: 'sending', waiting_reason: 'local_hour', held: null });
    await pass(3 * HOUR, HOUR);
    expect(listArrived('Local')).toHaveLength(4);
    expect(await campaign.get(id)).toMatchObject({ status: 'sent', recipients: 4 });
  });
});

it('the time to click of an A/B test stops while the broadcast is paused', async () => {
  const campaign = await campaignIn(scene);
  await campaign.addContacts(many(60, 'one.example'));
  const ab = { subjects: ['Test B'], test_percent: 50, wait_minutes: 60 };
  const id = await campaign.broadcast({ subject: 'Test A', ab });
  await scene.settled();
  const tested = (await campaign.get(id)).recipients as number;
  expect(tested).toBeLessThan(60);
  await pass(20 * MINUTE, 10 * MINUTE);
  await pause(campaign, id);
  await pass(5 * HOUR, HOUR);
  await resume(campaign, id);
  await scene.settled();
  const until = new Date(scene.clock.now() + 40 * MINUTE).toISOString();
  expect(await campaign.get(id)).toMatchObject({
    status: 'sending',
    recipients: tested,
    waiting_reason: 'ab_test',
    next_at: until,
    ab: { decides_at: until, winner: null },
  });
  await pass(41 * MINUTE, MINUTE);
  expect(await campaign.get(id)).toMatchObject({ status: 'sent', recipients: 60, ab: { winner: 'Test A' } });
  expect([...listArrived('Test A'), ...listArrived('Test B')].sort()).toEqual(many(60, 'one.example').sort());
});

describe('a resume', () => {
  it('does not lift what an operator has switched off or holds, and says so', async () => {
    const { campaign, id } = await slow('Operator', many(6, 'one.example'));
    const key = await scene.operator();
    await pause(campaign, id);
    const body = { team_id: campaign.team.id, reason: 'Abuse desk asks' };
    const hold = await scene.api('POST', '/operator/queue/holds', { key, body });
    expect(hold.status, hold.text).toBeLessThan(300);
    await resume(campaign, id);
    await pass(MINUTE, SECOND);
    const { recipients } = await campaign.get(id);
    expect(await campaign.get(id)).toMatchObject({ status: 'sending', paused: null, waiting_reason: 'hold' });
    expect(await refusal(campaign, id, 'resume')).toBe(
      '403 A team cannot resume this broadcast, because an operator holds the mail of this team. It continues by itself when that ends.',
    );
    await pass(MINUTE, SECOND);
    expect(await campaign.get(id)).toMatchObject({ recipients });
    await scene.api('DELETE', `/operator/queue/holds/${hold.body.id as string}`, { key });
    await pass(2 * MINUTE, SECOND);
    expect(await campaign.get(id)).toMatchObject({ status: 'sent' });
    expect(listArrived('Operator')).toEqual(many(6, 'one.example'));
  });

  it('ends the pause and not a hold for bounces that came during the pause, which a second resume ends', async () => {
    sink.isShut = true;
    const campaign = await campaignIn(scene);
    await campaign.addContacts([...many(2, 'shut.example'), ...many(6, 'bad.example')]);
    const id = await campaign.broadcast({ subject: 'Both' });
    await scene.settled();
    await pause(campaign, id);
    await pass(5 * SECOND, SECOND);
    expect(await campaign.get(id)).toMatchObject({ held: { reason: 'bounces' }, paused: { by: {} } });
    sink.isShut = false;
    expect(await resume(campaign, id)).toMatchObject({ id, held: { reason: 'bounces' } });
    await pass(20 * MINUTE);
    expect(listArrived('Both')).toEqual([]);
    expect(await campaign.get(id)).toMatchObject({ held: { reason: 'bounces' }, paused: null });
    expect(await resume(campaign, id)).toMatchObject({ id, held: null });
    await pass(MINUTE, SECOND);
    expect(listArrived('Both')).toEqual(many(2, 'shut.example'));
  });

  it('of a paused broadcast by an app needs an approval like a send, and a pause by it needs none', async () => {
    const { campaign, id } = await slow('App', many(6, 'one.example'));
    const oauth = createOauth(scene);
    const app = await oauth.register();
    const owner = await createPeople(scene).person({ team: campaign.team, role: 'owner' });
    const scope = SCOPE_NAMES.join(' ');
    const { access_token: key } = await oauth.letIn(owner, app, { scope }, { approval: 'broadcasts' });
    const paused = await scene.api('POST', `/broadcasts/${id}/pause`, { key });
    expect(paused.status, paused.text).toBe(200);
    expect(await campaign.get(id)).toMatchObject({ paused: { by: { kind: 'app' } } });
    const held = await scene.api('POST', `/broadcasts/${id}/resume`, { key });
    expect(held.body.details, held.text).toMatchObject({ approval_id: expect.any(String) as string });
    await pass(MINUTE, SECOND);
    expect(await campaign.get(id)).toMatchObject({ paused: { by: { kind: 'app' } } });
    const path = `/approvals/${held.body.details.approval_id as string}`;
    expect((await owner.call('GET', path)).body.content.audience).toMatchObject({ subscribed: 6 });
    expect((await owner.call('POST', `${path}/approve`, {})).body.status).toBe('done');
    await pass(MINUTE, SECOND);
    expect(await campaign.get(id)).toMatchObject({ status: 'sent', recipients: 6 });
    expect(listArrived('App')).toEqual(many(6, 'one.example'));
  });
});
