// Who gets a broadcast: several segments, excluded segments, and what contacts did with earlier broadcasts.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startScene, type Scene } from '../rig/scene.ts';
import { campaignIn, type Campaign } from './campaign.ts';
import { DAY, removeExpired } from './expiry.ts';
import { HOUR, MINUTE, SECOND } from './mail.ts';
import { follow, letReadingsSettle, publishTracking, readMail } from './reader.ts';

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
    config: { tracking: { scheme: 'http' }, delivery: { retry_minutes: [5] } },
  });
});
afterAll(() => scene.close());
beforeEach(() => {
  sink.isShut = false;
});

const arrived = (subject: string) => scene.sink.messages.filter(({ data }) => data.includes(`Subject: ${subject}\r\n`));
const listArrived = (subject: string): string[] =>
  arrived(subject)
    .flatMap(({ rcptTo }) => rcptTo)
    .sort();
const many = (count: number): string[] => Array.from({ length: count }, (_, i) => `r${i}@one.example`);
async function pass(ms: number, step = Math.min(ms, MINUTE)): Promise<void> {
  for (let passed = 0; passed < ms; passed += step) {
    scene.clock.advance(step);
    await scene.settled();
  }
}
let count = 0;
/** Makes a segment of these contacts, who are added by hand. */
async function segmentOf(campaign: Campaign, emails: readonly string[]): Promise<string> {
  const id = await campaign.make('/segments', { name: `Segment ${++count}` });
  for (const email of emails) await join(campaign, email, id);
  return id;
}
const join = async ({ call }: Campaign, email: string, segment: string): Promise<void> =>
  expect((await call('POST', `/contacts/${email}/segments/${segment}`)).status).toBeLessThan(300);
/** Returns the excluded addresses with the reasons. */
async function readExclusions(campaign: Campaign, id: string): Promise<Record<string, string>> {
  const { data } = await campaign.read(`/broadcasts/${id}/exclusions?limit=100`);
  const rows = data as { email: string; reason: string }[];
  return Object.fromEntries(rows.map(({ email, reason }) => [email, reason]));
}
const readAudience = async (campaign: Campaign, id: string) =>
  (await campaign.read(`/broadcasts/${id}/checklist`)).audience as Record<string, unknown> | null;
async function readOpensCheck(campaign: Campaign, id: string) {
  const { checks } = await campaign.read(`/broadcasts/${id}/checklist`);
  return (checks as { name: string }[]).find(({ name }) => name === 'opens');
}
/** Sends a broadcast to everybody and waits until it has left. */
async function sendFirst(campaign: Campaign, subject: string, more: object = {}): Promise<string> {
  const id = await campaign.broadcast({ subject, ...more });
  await scene.settled();
  return id;
}

describe('a broadcast to several segments', () => {
  it('mails each contact once, leaves out the excluded segments, and the checklist and the report agree', async () => {
    const campaign = await campaignIn(scene);
    await campaign.addContacts([...many(5), 'left@one.example']);
    await campaign.call('PATCH', '/contacts/left@one.example', { unsubscribed: true });
    const first = await segmentOf(campaign, ['r0@one.example', 'r1@one.example', 'left@one.example']);
    const second = await segmentOf(campaign, ['r1@one.example', 'r2@one.example', 'r3@one.example']);
    const filter = { field: 'email', op: 'in', value: ['r3@one.example', 'r4@one.example'] };
    const without = await campaign.make('/segments', { name: `Segment ${++count}`, filter });
    const target = { segment_id: null, segment_ids: [first, second], exclude_segment_ids: [without] };
    const id = await campaign.broadcast({ subject: 'Several', ...target, send: false });
    expect(await campaign.get(id)).toMatchObject({ ...target, segment_id: first });
    expect(await readAudience(campaign, id)).toMatchObject({
      segments: [{ id: first }, { id: second }],
      exclude_segments: [{ id: without, name: `Segment ${count}` }],
      contacts: 5,
      recipients: 3,
      excluded: [
        { reason: 'unsubscribed', contacts: 1 },
        { reason: 'excluded_segment', contacts: 1 },
      ],
    });
    expect((await campaign.call('POST', `/broadcasts/${id}/send`)).status).toBe(200);
    await scene.settled();
    expect(listArrived('Several')).toEqual(many(3));
    expect(await campaign.get(id)).toMatchObject({ status: 'sent', recipients: 3, excluded: 2, total: 5 });
    expect(await readExclusions(campaign, id)).toEqual({
      'left@one.example': 'unsubscribed',
      'r3@one.example': 'excluded_segment',
    });
  });

  it('leaves out a contact that is added to an excluded segment after sending began', async () => {
    const campaign = await campaignIn(scene);
    await campaign.addContacts(many(5).toReversed());
    const without = await segmentOf(campaign, []);
    const id = await campaign.broadcast({ subject: 'Late', exclude_segment_ids: [without], rate_per_minute: 12 });
    await scene.settled();
    expect(listArrived('Late')).toEqual(['r0@one.example']);
    await join(campaign, 'r3@one.example', without);
    await pass(MINUTE, SECOND);
    expect(listArrived('Late')).toEqual(['r0@one.example', 'r1@one.example', 'r2@one.example', 'r4@one.example']);
    expect(await readExclusions(campaign, id)).toEqual({ 'r3@one.example': 'excluded_segment' });
  });

  it('leaves out a contact that is added to an excluded segment between two pages of one turn', async () => {
    const campaign = await campaignIn(scene);
    await campaign.addContacts(many(3).toReversed());
    const without = await segmentOf(campaign, []);
    const at = new Date(scene.clock.now() + HOUR).toISOString();
    await campaign.broadcast({ subject: 'Turn', exclude_segment_ids: [without], scheduled_at: at });
    const { db } = scene.app.world;
    const { all } = db;
    let isJoined = false;
    // The contacts of the page are read, and it is about to be written.
    db.all = (async (...args: Parameters<typeof all>) => {
      const rows = await all.apply(db, args);
      if (!isJoined && /select c\.\* from contacts/.test(args[0]) && rows.length === 3) {
        isJoined = true;
        await join(campaign, 'r1@one.example', without);
      }
      return rows;
    }) as typeof all;
    await pass(HOUR, HOUR);
    Object.assign(db, { all });
    await pass(10 * SECOND, SECOND);
    expect(isJoined).toBe(true);
    expect(listArrived('Turn')).toEqual(['r0@one.example', 'r2@one.example']);
  });

  it.each(['segment_ids', 'exclude_segment_ids'])(
    'fails when a segment in %s is deleted before its time',
    async (field) => {
      const campaign = await campaignIn(scene);
      await campaign.addContacts(['a@one.example']);
      const other = await segmentOf(campaign, []);
      const ids = field === 'segment_ids' ? [campaign.segmentId, other] : [other];
      const at = new Date(scene.clock.now() + HOUR).toISOString();
      const id = await campaign.broadcast({ subject: field, [field]: ids, scheduled_at: at });
      expect((await campaign.call('DELETE', `/segments/${other}`)).status).toBe(200);
      await pass(HOUR, HOUR);
      expect(await campaign.get(id)).toMatchObject({ status: 'failed', failed_reason: 'segment_deleted' });
      expect(listArrived(field)).toEqual([]);
    },
  );

  it('excludes the same contacts from the test and the rest of an A/B test, and at each local hour', async () => {
    const campaign = await campaignIn(scene);
    await campaign.addContacts(many(30));
    const without = await segmentOf(campaign, many(10));
    const others = many(30).slice(10).sort();
    const ab = { subjects: ['Split B'], test_percent: 50, wait_minutes: 10 };
    const tested = await campaign.broadcast({ subject: 'Split A', ab, exclude_segment_ids: [without] });
    await scene.settled();
    await pass(11 * MINUTE);
    expect([...listArrived('Split A'), ...listArrived('Split B')].sort()).toEqual(others);
    expect(await campaign.get(tested)).toMatchObject({ status: 'sent', recipients: 20, excluded: 10 });
    const at = new Date(scene.clock.now() + 30 * HOUR).toISOString();
    const more = { scheduled_at: at, local_time: true, exclude_segment_ids: [without] };
    const local = await campaign.broadcast({ subject: 'Local', ...more });
    await pass(31 * HOUR, HOUR);
    expect(listArrived('Local')).toEqual(others);
    expect(await campaign.get(local)).toMatchObject({ recipients: 20, excluded: 10 });
  });
});

describe('a broadcast to those who have not received another one', () => {
  it('leaves out whoever got it, will still get it or may have got it, also at another address', async () => {
    sink.isShut = true;
    const campaign = await campaignIn(scene);
    const emails = ['got@one.example', 'moved@one.example', 'erased@one.example', 'waits@shut.example'];
    await campaign.addContacts([...emails, 'bounced@bad.example', 'left@one.example']);
    await campaign.call('PATCH', '/contacts/left@one.example', { unsubscribed: true });
    const november = await sendFirst(campaign, 'November', { name: 'November' });
    await campaign.call('PATCH', '/contacts/moved@one.example', { email: 'moved@new.example' });
    await campaign.call('DELETE', '/contacts/erased@one.example');
    await campaign.call('PATCH', '/contacts/left@one.example', { unsubscribed: false });
    await campaign.addContacts(['erased@one.example', 'new@one.example']);
    await campaign.call('DELETE', '/suppressions/bounced@bad.example');
    const id = await campaign.broadcast({ subject: 'Rest', not_received_from: [november], send: false });
    expect(await readAudience(campaign, id)).toMatchObject({
      not_received_from: [{ id: november, name: 'November' }],
      contacts: 7,
    });
    expect((await campaign.call('POST', `/broadcasts/${id}/send`)).status).toBe(200);
    await scene.settled();
    expect(listArrived('Rest')).toEqual(['left@one.example', 'new@one.example']);
    expect(await campaign.get(id)).toMatchObject({ status: 'sent', recipients: 3, excluded: 4 });
    const received = ['got@one.example', 'moved@new.example', 'erased@one.example', 'waits@shut.example'];
    expect(await readExclusions(campaign, id)).toEqual(
      Object.fromEntries(received.map((email) => [email, 'already_received'])),
    );
  });

  it('counts it as received by none of the contacts whose emails were removed from the queue', async () => {
    sink.isShut = true;
    const campaign = await campaignIn(scene);
    await campaign.addContacts([...many(2), 'a@shut.example', 'b@shut.example']);
    const first = await sendFirst(campaign, 'Stopped');
    expect((await campaign.call('POST', `/broadcasts/${first}/pause`)).status).toBe(200);
    expect((await campaign.call('POST', `/broadcasts/${first}/cancel`)).status).toBe(200);
    sink.isShut = false;
    await sendFirst(campaign, 'Again', { not_received_from: [first] });
    expect(listArrived('Stopped')).toEqual(many(2));
    expect(listArrived('Again')).toEqual(['a@shut.example', 'b@shut.example']);
  });

  it('waits with the send until the emails of a canceled one are out of the queue', async () => {
    sink.isShut = true;
    const campaign = await campaignIn(scene);
    await campaign.addContacts(['a@shut.example']);
    const first = await sendFirst(campaign, 'Killed', { name: 'Killed' });
    await campaign.call('POST', `/broadcasts/${first}/pause`);
    // The process was killed between the cancel and the removal.
    await scene.app.world.db.run("update broadcasts set status = 'canceled' where id = ?", [first]);
    const id = await campaign.broadcast({ subject: 'After', not_received_from: [first], send: false });
    const { status, body } = await campaign.call('POST', `/broadcasts/${id}/send`);
    const message = 'The waiting emails of the canceled broadcast "Killed" are being removed; try again in a minute.';
    expect([status, (body as { message: string }).message]).toEqual([422, message]);
    sink.isShut = false;
    await pass(6 * MINUTE);
    await scene.app.jobs.find(({ name }) => name === 'release-ended-holds')?.run();
    expect((await campaign.call('POST', `/broadcasts/${id}/send`)).status).toBe(200);
    await scene.settled();
    expect([listArrived('Killed'), listArrived('After')]).toEqual([[], ['a@shut.example']]);
  });

  it('keeps the report of the other one until it has been sent, and is refused once that was removed', async () => {
    const campaign = await campaignIn(scene);
    await campaign.addContacts(['a@one.example']);
    const first = await sendFirst(campaign, 'Old', { name: 'Old' });
    await pass(20 * DAY, 20 * DAY);
    const at = new Date(scene.clock.now() + 29 * DAY).toISOString();
    const more = { not_received_from: [first], scheduled_at: at };
    const second = await campaign.broadcast({ subject: 'Scheduled', ...more });
    await pass(28 * DAY, 28 * DAY);
    await removeExpired(scene);
    expect(await campaign.reported(first, 'recipients?type=sent')).toEqual(['a@one.example']);
    await pass(DAY, 6 * HOUR);
    expect(await campaign.get(second)).toMatchObject({ status: 'sent', recipients: 0, excluded: 1 });
    await removeExpired(scene);
    expect(await campaign.reported(first, 'recipients?type=sent')).toEqual([]);
    const draft = await campaign.broadcast({ subject: 'Too late', not_received_from: [first], send: false });
    expect(await readAudience(campaign, draft)).toBeNull();
    const { status, body } = await campaign.call('POST', `/broadcasts/${draft}/send`);
    expect(`${status} ${(body as { message: string }).message}`).toMatch(
      /^422 not_received_from\.0: the report of the broadcast "Old" was removed by age/,
    );
    expect(listArrived('Scheduled')).toEqual([]);
  });
});

describe('a broadcast to those who have not opened another one', () => {
  it('goes to those to whom it was delivered and who neither opened nor clicked; machines do not count', async () => {
    const campaign = await campaignIn(scene);
    await publishTracking(scene, campaign.team, campaign.domain.id, { open_tracking: true, click_tracking: true });
    const names = ['opened', 'clicked', 'machine', 'unread'];
    await campaign.addContacts([...names.map((name) => `${name}@one.example`), 'bounced@bad.example']);
    const html = '<p>Hello</p><a href="https://example.com/new">New</a>';
    const first = await sendFirst(campaign, 'Invitation', { name: 'Invitation', html });
    await pass(MINUTE);
    const read = async (name: string) => {
      const mail = arrived('Invitation').find(({ rcptTo }) => rcptTo[0] === `${name}@one.example`);
      return readMail(mail?.data ?? Buffer.from(''));
    };
    await follow(scene.url, (await read('opened')).pixel ?? '');
    await follow(scene.url, (await read('machine')).pixel ?? '', { headers: { 'user-agent': 'Mozilla/5.0' } });
    const { links } = await read('clicked');
    await follow(scene.url, links.find((link) => link.includes('/c/')) ?? '');
    await letReadingsSettle(scene);
    await campaign.addContacts(['new@one.example']);
    await campaign.call('DELETE', '/suppressions/bounced@bad.example');
    const id = await campaign.broadcast({ subject: 'Reminder', html, received_but_not_opened: first, send: false });
    expect(await readAudience(campaign, id)).toMatchObject({
      received_but_not_opened: { id: first, name: 'Invitation' },
      contacts: 6,
      recipients: 2,
      excluded: [
        { reason: 'unsubscribed', contacts: 0 },
        { reason: 'already_opened', contacts: 2 },
        { reason: 'not_received', contacts: 2 },
      ],
    });
    expect(await readOpensCheck(campaign, id)).toMatchObject({ status: 'pass' });
    expect((await campaign.call('POST', `/broadcasts/${id}/send`)).status).toBe(200);
    await scene.settled();
    expect(listArrived('Reminder')).toEqual(['machine@one.example', 'unread@one.example']);
    expect(await readExclusions(campaign, id)).toEqual({
      'opened@one.example': 'already_opened',
      'clicked@one.example': 'already_opened',
      'bounced@bad.example': 'not_received',
      'new@one.example': 'not_received',
    });
  });

  it('has a warning in its checklist if no open of that broadcast was counted, and can be sent', async () => {
    const campaign = await campaignIn(scene);
    await campaign.addContacts(many(2));
    const first = await sendFirst(campaign, 'Untracked', { name: 'Untracked' });
    const plain = await campaign.broadcast({ subject: 'Plain', send: false });
    expect(await readOpensCheck(campaign, plain)).toBeUndefined();
    const id = await campaign.broadcast({ subject: 'Again', received_but_not_opened: first, send: false });
    expect(await readOpensCheck(campaign, id)).toEqual({
      name: 'opens',
      status: 'warn',
      message: expect.stringContaining('No open of "Untracked" was counted'),
      details: [],
    });
    expect((await campaign.call('POST', `/broadcasts/${id}/send`)).status).toBe(200);
  });
});

describe('a canceled broadcast', () => {
  it('is continued by a copy that goes to the others, and so is the copy', async () => {
    const campaign = await campaignIn(scene);
    await campaign.addContacts(many(9).toReversed());
    const subject = 'Campaign';
    const first = await campaign.broadcast({ subject, name: 'Campaign', rate_per_minute: 12 });
    const duplicate = async (id: string, body?: object) => {
      const answer = await campaign.call('POST', `/broadcasts/${id}/duplicate`, body);
      return { status: answer.status, ...(answer.body as { id: string; message?: string }) };
    };
    await scene.settled();
    expect(await duplicate(first, { remaining: true })).toMatchObject({
      status: 403,
      message:
        'This broadcast is being sent; only a broadcast that is sent, canceled or failed can be continued with remaining.',
    });
    await pass(10 * SECOND, SECOND);
    expect((await campaign.call('POST', `/broadcasts/${first}/cancel`)).status).toBe(200);
    await pass(MINUTE);
    const before = listArrived(subject);
    expect(before.length).toBeGreaterThan(0);
    expect(before.length).toBeLessThan(5);
    const second = await duplicate(first, { remaining: true });
    expect(await campaign.get(second.id)).toMatchObject({
      name: 'Continuation of Campaign',
      status: 'draft',
      not_received_from: [first],
      duplicated_from: first,
    });
    expect((await campaign.call('POST', `/broadcasts/${second.id}/send`)).status).toBe(200);
    await scene.settled();
    await pass(5 * SECOND, SECOND);
    expect((await campaign.call('POST', `/broadcasts/${second.id}/cancel`)).status).toBe(200);
    await pass(MINUTE);
    expect(listArrived(subject).length).toBeGreaterThan(before.length);
    expect(listArrived(subject).length).toBeLessThan(9);
    const third = await duplicate(second.id, { remaining: true });
    expect(await campaign.get(third.id)).toMatchObject({ not_received_from: [first, second.id] });
    expect((await campaign.call('POST', `/broadcasts/${third.id}/send`)).status).toBe(200);
    await pass(2 * MINUTE, SECOND);
    expect(listArrived(subject)).toEqual(many(9));
    const copy = await duplicate(first);
    expect(await campaign.get(copy.id)).toMatchObject({
      name: 'Copy of Campaign',
      not_received_from: [],
      duplicated_from: first,
    });
  });
});
