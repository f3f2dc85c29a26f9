// mail of broadcasts and automations, and custom events --> what filters know about the contacts
import { afterAll, beforeAll, expect, it } from 'vitest';
import { recordEmailEvents, type EmailEvent } from '../../src/mail/emails/index.ts';
import { line, start, step, supply } from '../api/automations/graph.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import { campaignIn, type Campaign } from './campaign.ts';
import { BROWSER, follow, letReadingsSettle, publishTracking, readMail, sendHtml, type Arrived } from './reader.ts';

const DAY = 86_400_000;
const OFFER = 'https://example.com/offer';
const OTHERS = [1, 2, 3].map((n) => `https://example.com/${n}`);
const HTML =
  [OFFER, ...OTHERS].map((link) => `<a href="${link}">x</a>`).join('') +
  '<a href="{{{UNSUBSCRIBE_URL}}}">Unsubscribe</a>';
const READERS = ['ada', 'bob', 'cyd', 'dan'];

let scene: Scene;
beforeAll(async () => {
  scene = await startScene({ config: { tracking: { scheme: 'http' } } });
});
afterAll(() => scene.close());

interface Readers {
  campaign: Campaign;
  /** Returns the local parts of the contacts that a filter matches, in order. */
  find(filter: object): Promise<string>;
  /** Sends a broadcast to all contacts; returns its id and the mails by local part. */
  send(): Promise<{ id: string; mails: Record<string, Omit<Arrived, 'id' | 'data'>> }>;
}

async function readers(): Promise<Readers> {
  const campaign = await campaignIn(scene);
  await publishTracking(scene, campaign.team, campaign.domain.id, { open_tracking: true, click_tracking: true });
  await campaign.addContacts(READERS.map((name) => `${name}@example.org`));
  let segments = 0;
  return {
    campaign,
    async find(filter) {
      const id = await campaign.make('/segments', { name: `Segment ${segments++}`, filter });
      const found = (await campaign.read(`/segments/${id}/contacts`)).data as { id: string; email: string }[];
      const preview = (await campaign.call('POST', '/segments/preview', { filter })).body as { contacts: number };
      expect(preview.contacts).toBe(found.length);
      for (const { id: contact } of found) {
        const inside = (await campaign.read(`/contacts/${contact}/segments?limit=100`)).data as { id: string }[];
        expect(inside.map((one) => one.id)).toContain(id);
      }
      return found
        .map(({ email }) => email.split('@')[0])
        .sort()
        .join(' ');
    },
    async send() {
      const before = scene.sink.messages.length;
      const id = await campaign.broadcast({ html: HTML });
      await scene.settled();
      scene.clock.advance(60_000);
      const mails: Record<string, Omit<Arrived, 'id' | 'data'>> = {};
      for (const { data, rcptTo } of scene.sink.messages.slice(before))
        mails[rcptTo[0]?.split('@')[0] ?? ''] = await readMail(data);
      return { id, mails };
    },
  };
}

const opens = (mail: { pixel: string | undefined } | undefined, agent = BROWSER) =>
  follow(scene.url, mail?.pixel ?? '', { headers: { 'user-agent': agent } });
const clicks = (mail: { links: string[] } | undefined, at = 0) => follow(scene.url, mail?.links[at] ?? '');

it('filters on engagement match what people did with mail of a broadcast, and nothing that machines did', async () => {
  const { find, send } = await readers();
  expect(await find({ engagement: 'sent' })).toBe('');
  const { id, mails } = await send();
  expect(await find({ engagement: 'sent', within_days: 1 })).toBe('ada bob cyd dan');
  expect(await find({ engagement: 'delivered', broadcast: id })).toBe('ada bob cyd dan');
  await opens(mails.ada);
  await opens(mails.bob);
  await clicks(mails.bob);
  await opens(mails.cyd, 'Mozilla/5.0');
  // A gateway follows all links at once.
  for (const at of [0, 1, 2, 3]) await clicks(mails.dan, at);
  await letReadingsSettle(scene);
  for (const broadcast of [{}, { broadcast: id }]) {
    expect(await find({ engagement: 'opened', ...broadcast })).toBe('ada bob');
    expect(await find({ engagement: 'clicked', ...broadcast })).toBe('bob');
    expect(await find({ engagement: 'clicked', link: OFFER, ...broadcast })).toBe('bob');
    expect(await find({ engagement: 'clicked', link: OTHERS[0], ...broadcast })).toBe('');
    expect(await find({ not: [{ engagement: 'opened', ...broadcast }] })).toBe('cyd dan');
  }
});

it('days in a filter are counted back from the time of reading, and inactivity begins with the first mail', async () => {
  const { campaign, find, send } = await readers();
  const first = await send();
  await opens(first.mails.ada);
  await clicks(first.mails.bob);
  await letReadingsSettle(scene);
  const { engagement } = (await campaign.call('POST', '/contacts/export-person', { email: 'ada@example.org' }))
    .body as { engagement: Record<string, string | null> };
  expect(Object.entries(engagement).filter(([, at]) => at === null)).toEqual([['last_clicked_at', null]]);
  const recent = { engagement: 'opened', within_days: 10 };
  expect(await find(recent)).toBe('ada');
  expect(await find({ engagement: 'inactive', within_days: 10 })).toBe('');
  scene.clock.advance(9 * DAY);
  const second = await send();
  await opens(second.mails.cyd);
  await letReadingsSettle(scene);
  expect(await find(recent)).toBe('ada cyd');
  expect(await find({ engagement: 'inactive', within_days: 9 })).toBe('ada bob dan');
  scene.clock.advance(2 * DAY);
  expect(await find(recent)).toBe('cyd');
  expect(await find({ engagement: 'clicked', link: OFFER, within_days: 10 })).toBe('');
  expect(await find({ engagement: 'clicked', link: OFFER, within_days: 12 })).toBe('bob');
  expect(await find({ engagement: 'opened', broadcast: first.id })).toBe('ada');
  expect(await find({ engagement: 'opened', broadcast: second.id })).toBe('cyd');
  scene.clock.advance(30 * DAY);
  // Nothing was sent within that time.
  expect(await find({ engagement: 'inactive', within_days: 9 })).toBe('');
});

it('the 300 links that a contact clicked last are kept, and the others of the contact are forgotten', async () => {
  const { campaign, find, send } = await readers();
  const { db } = scene.app.world;
  const { mails } = await send();
  const ids = new Map<string, string>();
  for (const name of ['ada', 'bob']) ids.set(name, (await campaign.read(`/contacts/${name}@example.org`)).id as string);
  const hash = (n: number) => String(n).padStart(64, '0');
  const columns = ['team_id', 'url_hash', 'contact_id', 'last_at'];
  // Two rows have the same time.
  const earlier = [...ids.values()].flatMap((id) =>
    Array.from({ length: 300 }, (_, n) => [campaign.team.id, hash(n), id, 1000 + Math.max(n, 1)]),
  );
  await db.tx((tx) => tx.insertMany('contact_link_clicks', columns, earlier));
  await clicks(mails.ada);
  await letReadingsSettle(scene);
  const sql = 'select url_hash from contact_link_clicks where contact_id = ?';
  const kept = async (name: string) =>
    new Set((await db.all<{ url_hash: string }>(sql, [ids.get(name) ?? ''])).map((row) => row.url_hash));
  const ada = await kept('ada');
  expect([ada.size, ada.has(hash(0)), ada.has(hash(1)), ada.has(hash(299))]).toEqual([300, false, true, true]);
  expect((await kept('bob')).size).toBe(300);
  expect(await find({ engagement: 'clicked', link: OFFER })).toBe('ada');
});

it('mail that a program sends to the address of a contact does not count as its engagement', async () => {
  const { campaign, find } = await readers();
  const mail = await sendHtml(scene, campaign.team, campaign.domain, {
    html: '<p>Receipt</p>',
    to: 'ada@example.org',
  });
  await opens(mail);
  await letReadingsSettle(scene);
  expect((await campaign.read(`/emails/${mail.id}`)).last_event).toBe('opened');
  expect(await find({ engagement: 'sent' })).toBe('');
  expect(await find({ engagement: 'opened' })).toBe('');
});

it('engagement keeps the latest time when events are repeated or recorded late', async () => {
  const { campaign, find, send } = await readers();
  await send();
  const { db, ids, clock } = scene.app.world;
  const rows = await db.all<EmailEvent['email'] & { to_list: string }>(
    'select * from emails where team_id = ? order by id',
    [campaign.team.id],
  );
  const email = rows.find(({ to_list: to }) => to.includes('ada@'));
  if (!email) throw new Error('no email to ada');
  const open = { ipAddress: '', userAgent: '', timestamp: '' };
  const event = (at: number): EmailEvent => ({ email, at, type: 'email.opened', data: { open } });
  const now = clock.now();
  await db.tx((tx) => recordEmailEvents(tx, ids, [event(now - 20 * DAY), event(now), event(now - DAY)]));
  await db.tx((tx) => recordEmailEvents(tx, ids, [event(now - 40 * DAY)]));
  expect(await find({ engagement: 'opened', within_days: 1 })).toBe('ada');
});

it('filters match mail of automations and the custom events that were received', async () => {
  const has = await supply(scene);
  await publishTracking(scene, has.team, (await scene.api('GET', '/domains', { key: has.team.key })).body.data[0].id, {
    open_tracking: true,
    click_tracking: true,
  });
  const call = async (method: string, path: string, body?: object) =>
    (await scene.api(method, path, { key: has.team.key, ...(body && { body }) })).body;
  const count = async (filter: object) => (await call('POST', '/segments/preview', { filter })).contacts as number;
  const mail = step('mail', 'send_email', { template: { id: has.template, variables: { PRODUCT: 'Tea' } } });
  await call('POST', '/automations', { name: 'A', status: 'enabled', ...line(start, mail) });
  expect(await count({ event: 'order' })).toBe(0);
  const before = scene.sink.messages.length;
  await call('POST', '/events/send', { event: 'order', contact_id: has.contact });
  await scene.settled();
  expect(await count({ event: 'order', within_days: 1 })).toBe(1);
  expect(await count({ engagement: 'delivered' })).toBe(1);
  scene.clock.advance(3000);
  await opens(await readMail(scene.sink.messages[before]?.data ?? Buffer.alloc(0)));
  await letReadingsSettle(scene);
  expect(await count({ engagement: 'opened', within_days: 1 })).toBe(1);
  scene.clock.advance(2 * DAY);
  expect(await count({ event: 'order', within_days: 1 })).toBe(0);
  expect(await count({ event: 'order' })).toBe(1);
  await call('DELETE', `/events/${has.event}`);
  await call('POST', '/events', { name: 'order' });
  expect(await count({ event: 'order' })).toBe(0);
});

it('a deleted contact leaves no engagement behind, also when its mail is opened afterwards', async () => {
  const { campaign, find, send } = await readers();
  await campaign.make('/events', { name: 'paid' });
  await campaign.call('POST', '/events/send', { event: 'paid', email: 'bob@example.org' });
  const { mails } = await send();
  await opens(mails.bob);
  await clicks(mails.bob);
  await letReadingsSettle(scene);
  const { id } = await campaign.read('/contacts/bob@example.org');
  const { db } = scene.app.world;
  const countRows = async (): Promise<number[]> => {
    const counts: number[] = [];
    for (const table of ['contact_engagement', 'contact_link_clicks', 'contact_custom_events']) {
      const row = await db.get<{ n: number }>(`select count(*) as n from ${table} where contact_id = ?`, [String(id)]);
      counts.push(Number(row?.n));
    }
    return counts;
  };
  expect(await countRows()).toEqual([1, 1, 1]);
  await campaign.call('DELETE', '/contacts/bob@example.org');
  expect(await countRows()).toEqual([0, 0, 0]);
  await opens(mails.bob);
  await clicks(mails.bob);
  await letReadingsSettle(scene);
  expect(await countRows()).toEqual([0, 0, 0]);
  expect(await find({ engagement: 'sent' })).toBe('ada cyd dan');
});

it('a condition of an automation branches by a filter in the format of a segment', async () => {
  const has = await supply(scene);
  const call = async (method: string, path: string, body?: object) =>
    (await scene.api(method, path, { key: has.team.key, ...(body && { body }) })).body;
  await call('POST', '/events', { name: 'paid' });
  const filter = {
    all: [
      { event: 'paid', within_days: 7 },
      { field: 'created_at', op: 'lt', value: 'now-1d' },
    ],
  };
  const graph = {
    steps: [
      start,
      step('if', 'condition', { type: 'and', rules: [{ type: 'filter', filter }] }),
      step('yes', 'add_to_segment', { segment_id: has.segment }),
    ],
    connections: [
      { from: 'start', to: 'if' },
      { from: 'if', to: 'yes', type: 'condition_met' },
    ],
  };
  const { id } = await call('POST', '/automations', { name: 'A', status: 'enabled', ...graph });
  const run = async (): Promise<unknown> => {
    await call('POST', '/events/send', { event: 'order', contact_id: has.contact });
    await scene.settled();
    const [latest] = (await call('GET', `/automations/${id}/runs`)).data;
    const { steps, status, error } = await call('GET', `/automations/${id}/runs/${latest.id}`);
    const found = (steps as { key: string; output: unknown }[]).find(({ key }) => key === 'if');
    return status === 'completed' ? found?.output : error;
  };
  expect(await run()).toEqual({ met: false });
  await call('POST', '/events/send', { event: 'paid', contact_id: has.contact });
  expect(await run()).toEqual({ met: false });
  scene.clock.advance(2 * DAY);
  expect(await run()).toEqual({ met: true });
  scene.clock.advance(6 * DAY);
  expect(await run()).toEqual({ met: false });
  await call('DELETE', '/events/paid');
  expect(JSON.stringify(await run())).toContain('refers to the event \\"paid\\", which this team does not have');
});

it.each<[string, object, string]>([
  ['without a filter', { type: 'filter' }, 'must have a filter, an object in the format of the filter of a segment'],
  [
    'on an unknown event',
    { type: 'filter', filter: { event: 'nothing' } },
    'filter refers to the event "nothing", which this team does not have',
  ],
  [
    'within no days',
    { type: 'filter', filter: { engagement: 'opened', within_days: 0 } },
    'filter has within_days 0; it takes a whole number of days from 1 to 3650',
  ],
  [
    'of eleven filters',
    { type: 'or', rules: Array.from({ length: 11 }, () => ({ type: 'filter', filter: { engagement: 'opened' } })) },
    'may have at most 10 filters; got 11',
  ],
])('a condition of an automation %s is refused with the reason', async (_, config, message) => {
  const has = await supply(scene);
  const graph = line(start, step('if', 'condition', config));
  const { status, body } = await scene.api('POST', '/automations', {
    key: has.team.key,
    body: { name: 'A', ...graph },
  });
  expect([status, body.message]).toEqual([422, expect.stringContaining(message)]);
});
