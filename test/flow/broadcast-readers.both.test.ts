// a broadcast --> its readers, who open, click and leave, and the machines that look at it before them
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { press, visit } from '../rig/preference-pages.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import { campaignIn, type Campaign } from './campaign.ts';
import { BROWSER, follow, letReadingsSettle, publishTracking, readMail, type Arrived } from './reader.ts';

const ONE_CLICK = { body: 'List-Unsubscribe=One-Click' };
const LINKS = [1, 2, 3, 4].map((n) => `https://example.com/${n}`);
const HTML =
  LINKS.map((link) => `<a href="${link}">x</a>`).join('') + '<a href="{{{UNSUBSCRIBE_URL}}}">Unsubscribe</a>';

let scene: Scene;
beforeAll(async () => {
  scene = await startScene({ config: { tracking: { scheme: 'http' } } });
});
afterAll(() => scene.close());

interface Mailing {
  campaign: Campaign;
  id: string;
  /** The mail that arrived, by address. */
  mails: Record<string, Omit<Arrived, 'id'> & { id: string; leave: string }>;
  numbers(query: Record<string, string>): Promise<Record<string, number>>;
}

/** A broadcast on a domain that tracks, as it arrived, long enough ago to be read. */
async function mailing(addresses: readonly string[], more: Record<string, unknown> = {}): Promise<Mailing> {
  const campaign = await campaignIn(scene);
  await publishTracking(scene, campaign.team, campaign.domain.id, { open_tracking: true, click_tracking: true });
  await campaign.addContacts(addresses);
  const before = scene.sink.messages.length;
  const id = await campaign.broadcast({ html: HTML, ...more });
  await scene.settled();
  scene.clock.advance(60_000);
  const emails = (await campaign.read('/emails')).data as { id: string; to: string[] }[];
  const mails: Mailing['mails'] = {};
  for (const { data, rcptTo } of scene.sink.messages.slice(before)) {
    const [address = ''] = rcptTo;
    const leave = /^List-Unsubscribe: <([^>]*)>/m.exec(String(data).replaceAll(/\r\n[ \t]/g, ' '))?.[1] ?? '';
    const emailId = emails.find(({ to }) => to.includes(address))?.id ?? '';
    mails[address] = { id: emailId, data, leave: leave.trim(), ...(await readMail(data)) };
  }
  return {
    campaign,
    id,
    mails,
    async numbers(query) {
      const metrics = 'opened,clicked,unique_opened,unique_clicked,machine_opened,machine_clicked,unsubscribed';
      const asked = new URLSearchParams({ metrics, ...query }).toString();
      const { totals } = await campaign.read(`/emails/metrics?${asked}`);
      return Object.fromEntries(Object.entries(totals as Record<string, number>).filter(([, count]) => count !== 0));
    },
  };
}

const loadState = async ({ campaign }: Mailing, emailId: string): Promise<unknown> =>
  (await campaign.read(`/emails/${emailId}`)).last_event;

describe('machines that open a broadcast', () => {
  it('are listed next to its readers in recipients, links and metrics, and make nobody a reader', async () => {
    const one = await mailing(['ada@one.example', 'gate@one.example']);
    const ada = one.mails['ada@one.example'];
    const gate = one.mails['gate@one.example'];
    await follow(scene.url, ada?.pixel ?? '');
    await follow(scene.url, ada?.pixel ?? '', { headers: { 'user-agent': 'Mozilla/5.0' } });
    await follow(scene.url, ada?.links[0] ?? '');
    // A gateway that calls itself a browser follows every link, and the second of ada's.
    for (const link of gate?.links.slice(0, 4) ?? []) await follow(scene.url, link);
    await follow(scene.url, ada?.links[1] ?? '', { method: 'HEAD' });
    await letReadingsSettle(scene);
    const path = `/broadcasts/${one.id}`;
    const listed = async (list: string) => (await one.campaign.read(`${path}/${list}`)).data;
    expect(await listed('recipients?type=opened')).toMatchObject([
      { email: 'ada@one.example', count: 1, machine_count: 1 },
    ]);
    expect(await listed('recipients?type=clicked')).toMatchObject([
      { email: 'ada@one.example', count: 1, machine_count: 1, clicked_links: [{ url: LINKS[0], clicks: 1 }] },
    ]);
    expect(await listed('clicked-links')).toMatchObject([
      { url: LINKS[0], clicks: 1, unique_clicks: 1, machine_clicks: 1 },
    ]);
    expect([await loadState(one, ada?.id ?? ''), await loadState(one, gate?.id ?? '')]).toEqual([
      'clicked',
      'delivered',
    ]);
    const counted = {
      opened: 1,
      clicked: 1,
      unique_opened: 1,
      unique_clicked: 1,
      machine_opened: 1,
      machine_clicked: 5,
    };
    for (const query of [{}, { broadcast_id: one.id }, { domain_id: one.campaign.domain.id }] as Record<
      string,
      string
    >[])
      expect(await one.numbers(query)).toEqual(counted);
    expect(await one.numbers({ email_id: gate?.id ?? '' })).toEqual({ machine_clicked: 4 });
    // A request that does not name them does not get them.
    const { totals } = await one.campaign.read('/emails/metrics');
    expect(Object.keys(totals as object)).not.toContain('machine_opened');
    // A contact's activity is what the contact did.
    const activity = (await one.campaign.read('/contacts/gate@one.example/activity?kind=open,click')).data;
    expect(activity).toEqual([]);
  });
});

describe('readers who unsubscribe', () => {
  it('count once for the broadcast, the domain, the day and the email they left by', async () => {
    const one = await mailing(['ada@two.example', 'bob@two.example', 'cyd@two.example', 'dan@two.example']);
    const ada = one.mails['ada@two.example'];
    expect((await visit(scene, ada?.leave ?? '', ONE_CLICK)).status).toBe(200);
    expect((await visit(scene, ada?.leave ?? '', ONE_CLICK)).status).toBe(200);
    const page = await visit(scene, one.mails['bob@two.example']?.links.at(-1) ?? '');
    let left = await press(scene, page, 'unsubscribe');
    // Comes back, and leaves by the same mail: it is the same reader of the same email.
    left = await press(scene, left, 'subscribe');
    await press(scene, left, 'unsubscribe');
    for (const query of [{}, { broadcast_id: one.id }, { domain_id: one.campaign.domain.id }] as Record<
      string,
      string
    >[])
      expect(await one.numbers(query)).toEqual({ unsubscribed: 2 });
    expect(await one.numbers({ email_id: ada?.id ?? '' })).toEqual({ unsubscribed: 1 });
    const rates = await one.campaign.read(`/emails/metrics?metrics=unsubscribe_rate&broadcast_id=${one.id}`);
    expect(rates.totals).toEqual({ unsubscribe_rate: 50 });
    const days = await one.campaign.read('/emails/metrics?metrics=unsubscribed&dimensions=period,broadcast');
    const today = new Date(scene.clock.now()).toISOString().slice(0, 10);
    expect((days.data as { unsubscribed: number }[]).filter((row) => row.unsubscribed > 0)).toMatchObject([
      { period: today, broadcast_id: one.id, unsubscribed: 2 },
    ]);
    expect((await one.campaign.reported(one.id, 'recipients?type=unsubscribed')).sort()).toEqual([
      'ada@two.example',
      'bob@two.example',
    ]);
    // It is a step of the email's history, and no state of it.
    const events = (await one.campaign.read(`/emails/${ada?.id}/events`)).data as { type: string }[];
    expect(events.map(({ type }) => type)).toEqual([
      'email.unsubscribed',
      'email.delivered',
      'email.sent',
      'email.queued',
    ]);
    expect(await loadState(one, ada?.id ?? '')).toBe('delivered');
  });

  it('count when they leave a topic, and not when they choose other topics', async () => {
    const topics: string[] = [];
    const campaign = await campaignIn(scene);
    for (const name of ['News', 'Offers'])
      topics.push(await campaign.make('/topics', { name, default_subscription: 'opt_in', visibility: 'public' }));
    const [news, offers = ''] = topics;
    await campaign.addContacts(['eve@three.example']);
    const id = await campaign.broadcast({ topic_id: news, html: '<a href="{{{PREFERENCES_URL}}}">x</a>' });
    await scene.settled();
    const data = scene.sink.messages.find(({ rcptTo }) => rcptTo.includes('eve@three.example'))?.data;
    const { links } = await readMail(data ?? Buffer.alloc(0));
    const unsubscribed = async () =>
      (await campaign.read(`/emails/metrics?metrics=unsubscribed&broadcast_id=${id}`)).totals;
    let page = await visit(scene, links[0] ?? '');
    page = await press(scene, page, 'save', { untick: offers });
    expect(await unsubscribed()).toEqual({ unsubscribed: 0 });
    await press(scene, page, 'save', { untick: news ?? '' });
    expect(await unsubscribed()).toEqual({ unsubscribed: 1 });
  });

  it('are counted one by one when many leave at the same moment', async () => {
    const one = await mailing(Array.from({ length: 8 }, (_, n) => `r${n}@four.example`));
    const leaving = Object.values(one.mails).flatMap(({ leave }) => [leave, leave]);
    await Promise.all(leaving.map((link) => visit(scene, link, { ...ONE_CLICK, headers: { 'user-agent': BROWSER } })));
    expect(await one.numbers({ broadcast_id: one.id })).toEqual({ unsubscribed: 8 });
  });
});
