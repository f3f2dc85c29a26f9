// a broadcast --> the public archive of its team, and who finds it there
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { READER_TEXTS } from '../../../src/features/audience/index.ts';
import { requestDeletion } from '../../../src/tenancy/teams/index.ts';
import { campaignIn, type Campaign } from '../../flow/campaign.ts';
import { DAY, removeExpired } from '../../flow/expiry.ts';
import { HOUR } from '../../flow/mail.ts';
import { publishTracking } from '../../flow/reader.ts';
import { explainQueries } from '../../rig/plans.ts';
import { linksTo, visit, type Visited } from '../../rig/preference-pages.ts';
import { startScene, type Scene } from '../../rig/scene.ts';

const LANGUAGES = Object.keys(READER_TEXTS) as (keyof typeof READER_TEXTS)[];
const UNKNOWN = '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e50';

describe('the public archive of broadcasts', () => {
  let scene: Scene;
  beforeAll(async () => {
    scene = await startScene({ config: { tracking: { scheme: 'http' } } });
  });
  afterAll(() => scene.close());

  interface Archive extends Campaign {
    /** The path of the archive. */
    address: string;
    contactId: string;
  }

  /** Changes something of the archive, and returns its address. */
  async function readAddress(changing: ReturnType<Campaign['call']>): Promise<string> {
    return ((await changing).body as { archive_url: string }).archive_url;
  }

  const switchOn = (campaign: Campaign): Promise<string> =>
    readAddress(campaign.call('PATCH', '/team', { archive_enabled: true }));

  /** A team with an archive and one contact. */
  async function archiveIn(): Promise<Archive> {
    const campaign = await campaignIn(scene);
    const contactId = await campaign.make('/contacts', {
      email: 'ada@one.example',
      first_name: 'Adalbertina',
    });
    const url = await switchOn(campaign);
    return { ...campaign, address: new URL(url).pathname, contactId };
  }

  async function publish(campaign: Campaign, subject: string, more: object = {}): Promise<string> {
    const id = await campaign.broadcast({ subject, archive: true, ...more });
    await scene.settled();
    return id;
  }

  /** Returns everything of a response that a reader could tell apart. */
  const seen = ({ status, html, headers: { date: _, ...headers } }: Visited) => ({ status, html, headers });

  const listed = async ({ address }: Archive, query = ''): Promise<string[]> =>
    [...(await visit(scene, address + query)).html.matchAll(/<li>.*?<bdi>(.*?)<\/bdi>/g)].map(([, text]) => text ?? '');

  it('the archive is off until the team switches it on, and a broadcast is in it only if it says so', async () => {
    const campaign = await campaignIn(scene);
    await campaign.addContacts(['ada@one.example']);
    expect(await campaign.read('/team')).toMatchObject({
      archive_enabled: false,
      archive_indexed: false,
      archive_url: null,
    });
    const said = await publish(campaign, 'Said');
    const silent = await publish(campaign, 'Silent', { archive: undefined });
    const before = [await campaign.get(said), await campaign.get(silent)];
    expect(before.map(({ archive, archive_url: none }) => [archive, none])).toEqual([
      [true, undefined],
      [false, undefined],
    ]);
    const url = await switchOn(campaign);
    expect(url).toMatch(/^http:\/\/[^/]+\/archive\/[\w-]{22}$/);
    const list = await visit(scene, url);
    expect(list.html).toContain('<h1><bdi>Newsletters from Example Ltd</bdi></h1>');
    expect(list.html).toContain(`/${said}"`);
    expect(list.html).not.toContain('Silent');
    expect(await campaign.get(said)).toMatchObject({ archive_url: `${url}/${said}` });
    expect((await visit(scene, `${url}/${said}`)).status).toBe(200);
    expect((await visit(scene, `${url}/${silent}`)).status).toBe(404);
    const data = (await campaign.read('/broadcasts')).data as { id: string; archive: boolean }[];
    expect(data.map(({ id, archive }) => [id, archive])).toEqual([
      [silent, false],
      [said, true],
    ]);
  });

  it('a page of the archive has defaults and fallbacks in place of what is known of a contact, and no link or picture of a recipient', async () => {
    const campaign = await archiveIn();
    await publishTracking(scene, campaign.team, campaign.domain.id, { open_tracking: true, click_tracking: true });
    await campaign.make('/contact-properties', { key: 'city', type: 'string', fallback_value: 'your town' });
    await campaign.call('PATCH', `/contacts/${campaign.contactId}`, { properties: { city: 'Timbuktu' } });
    const contact = { id: campaign.contactId, email: 'ada@one.example' };
    const pasted = (await linksTo(scene, campaign.team, contact)).unsubscribe;
    const html = `<p>Dear {{{FIRST_NAME|reader}}} of {{{city}}}, {{{EMAIL}}}</p><a href="https://shop.example/?m={{{EMAIL|none}}}">Shop</a>
<a href="{{{UNSUBSCRIBE_URL}}}">Leave</a><a href="{{{PREFERENCES_URL}}}">Choose</a><a href="{{{VIEW_IN_BROWSER_URL}}}">View</a><a href="${pasted}">Pasted</a>`;
    const id = await publish(campaign, 'For {{{FIRST_NAME|you}}}', { html });
    const sent = scene.sink.messages.find(({ data }) => data.includes('Subject: For Adalbertina'));
    expect(sent?.rcptTo).toEqual(['ada@one.example']);
    const page = await visit(scene, `${campaign.address}/${id}`);
    expect(page.status).toBe(200);
    expect(page.html).toContain('<h1 lang="en"><bdi>For you</bdi></h1>');
    expect(page.html).toContain('Dear reader of your town, ');
    expect(page.html).toContain('<a href="https://shop.example/?m=none" target="_blank" rel="noopener noreferrer">');
    expect(page.html).not.toMatch(/adalbertina|ada@one|ada%40|timbuktu|\.gif|\/c\//i);
    const tokens = [...page.html.matchAll(/\/(?:unsubscribe|preferences|confirm|view)\/([\w-]+)/g)].map(
      ([, one]) => one,
    );
    expect(tokens.length).toBeGreaterThan(4);
    expect(new Set(tokens)).toEqual(new Set(['test']));
    // A reader has nothing to unsubscribe from, so the list of links has none of these.
    expect(page.html).not.toContain('/unsubscribe/test" target');
    expect(await listed(campaign)).toEqual(['For you']);
    expect(page.html).toContain('sandbox=""');
    expect(page.headers['content-security-policy']).toMatch(
      /^default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'$/,
    );
    expect(page.headers).toMatchObject({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' });
    // Erasing the contact changes nothing, because the page has nothing of it.
    expect((await campaign.call('POST', '/contacts/erase', { email: contact.email, with_mail: true })).status).toBe(
      200,
    );
    expect(seen(await visit(scene, `${campaign.address}/${id}`))).toEqual(seen(page));
  });

  it('a draft, a scheduled broadcast, one that was canceled before its start, one that waits for a review and one without recipients are not in the archive', async () => {
    const campaign = await archiveIn();
    const at = { send: true, scheduled_at: 'in 2 hours' };
    const canceled = await publish(campaign, 'Canceled', at);
    await campaign.call('POST', `/broadcasts/${canceled}/cancel`);
    const reviewed = await publish(campaign, 'Waits', at);
    // A change of its content outdates its approval in the same way.
    await scene.app.world.db.run('update broadcasts set require_review = 1 where id = ?', [reviewed]);
    scene.clock.advance(3 * HOUR);
    await scene.settled();
    expect(await campaign.get(reviewed)).toMatchObject({ waiting_reason: 'review', recipients: 0 });
    const nobody = await campaign.make('/segments', {
      name: 'Nobody',
      filter: { field: 'email', op: 'eq', value: 'nobody@one.example' },
    });
    const hidden = [
      canceled,
      reviewed,
      await publish(campaign, 'Draft', { send: false }),
      await publish(campaign, 'Scheduled', at),
      await publish(campaign, 'To nobody', { segment_id: nobody }),
    ];
    await scene.settled();
    expect(await Promise.all(hidden.map(async (id) => (await campaign.get(id)).archive_url))).toEqual(
      hidden.map(() => undefined),
    );
    const statuses = hidden.map(async (id) => (await visit(scene, `${campaign.address}/${id}`)).status);
    expect(await Promise.all(statuses)).toEqual(hidden.map(() => 404));
    const list = await visit(scene, campaign.address);
    expect([list.status, list.text]).toEqual([200, expect.stringContaining('No newsletter has been published yet.')]);
  });

  it('a sent broadcast is published and withdrawn at any time, which leaves its other fields as they are', async () => {
    const campaign = await archiveIn();
    const id = await publish(campaign, 'Later', { archive: false });
    const before = await campaign.get(id);
    const page = `${campaign.address}/${id}`;
    expect((await campaign.call('PATCH', `/broadcasts/${id}`, { archive: true })).status).toBe(400);
    const url = scene.url + page;
    const said = { object: 'broadcast', id, archive: true, archive_url: url };
    expect(await campaign.call('POST', `/broadcasts/${id}/archive`)).toMatchObject({ status: 200, body: said });
    expect(await campaign.call('POST', `/broadcasts/${id}/archive`)).toMatchObject({ status: 200, body: said });
    expect(await campaign.get(id)).toEqual({ ...before, archive: true, archive_url: url });
    expect((await visit(scene, page)).status).toBe(200);
    const withdrawn = { object: 'broadcast', id, archive: false };
    expect((await campaign.call('DELETE', `/broadcasts/${id}/archive`)).body).toEqual(withdrawn);
    expect((await visit(scene, page)).status).toBe(404);
    expect(await listed(campaign)).toEqual([]);
    const other = await archiveIn();
    expect((await other.call('POST', `/broadcasts/${id}/archive`)).status).toBe(404);
    expect((await other.call('DELETE', `/broadcasts/${UNKNOWN}/archive`)).status).toBe(404);
    const { data } = await campaign.read('/audit?limit=2');
    expect((data as { action: string }[]).map(({ action }) => action)).toEqual([
      'broadcast.unarchived',
      'broadcast.archived',
    ]);
  });

  it('a draft that was published or withdrawn is another one than its sender has read', async () => {
    const campaign = await archiveIn();
    const id = await publish(campaign, 'Read', { send: false, archive: false });
    const { updated_at: unchanged_since } = await campaign.get(id);
    const said = { object: 'broadcast', id, archive: true };
    expect((await campaign.call('POST', `/broadcasts/${id}/archive`)).body).toEqual(said);
    const { checks } = await campaign.read(`/broadcasts/${id}/checklist`);
    expect(checks).toContainEqual({
      name: 'archive',
      status: 'warn',
      message: expect.stringContaining('from its first email on'),
      details: [],
    });
    expect((await campaign.call('POST', `/broadcasts/${id}/send`, { unchanged_since })).status).toBe(409);
    expect((await campaign.call('PATCH', `/broadcasts/${id}`, { archive: false })).status).toBe(200);
    expect(await campaign.get(id)).toMatchObject({ archive: false });
    expect((await campaign.call('PATCH', `/broadcasts/${id}`, { archive: true, subject: 'Written' })).status).toBe(200);
    const copy = await campaign.make(`/broadcasts/${id}/duplicate`, {});
    expect(await campaign.get(copy)).toMatchObject({ archive: true });
    await campaign.call('POST', `/broadcasts/${id}/send`);
    await scene.settled();
    expect(await listed(campaign)).toEqual(['Written']);
    const remaining = await campaign.make(`/broadcasts/${id}/duplicate`, { remaining: true });
    expect(await campaign.get(remaining)).toMatchObject({ archive: false });
  });

  it('an unknown, renewed or disabled address, a broadcast of another team and a suspended team have the same response', async () => {
    const campaign = await archiveIn();
    const other = await archiveIn();
    const id = await publish(campaign, 'Ours');
    const foreign = await publish(other, 'Theirs');
    const none = seen(await visit(scene, `/archive/${'A'.repeat(22)}`));
    expect([none.status, none.headers['x-robots-tag']]).toEqual([404, 'noindex, nofollow, noarchive']);
    const isNone = async (...paths: string[]): Promise<void> => {
      for (const path of paths) expect(seen(await visit(scene, path)), path).toEqual(none);
    };
    const { address } = campaign;
    await isNone(
      `${address}/${foreign}`,
      `${address}/${UNKNOWN}`,
      `${address}/news`,
      `${address}/${id}/more`,
      `${address}?after=${foreign}`,
      `${address}?before=${UNKNOWN}`,
      // There is nothing before the newest and after the oldest broadcast.
      `${address}?after=${id}`,
      `${address}?before=${id}`,
      `${address}?after=1`,
      `${address}?after=${id}&before=news`,
      '/archive/',
      `/archive/${campaign.team.id}`,
    );
    expect((await visit(scene, `${address}/${id.toUpperCase()}`)).status).toBe(200);
    await campaign.call('PATCH', '/team', { archive_enabled: false });
    await isNone(address, `${address}/${id}`);
    expect(await campaign.read('/team')).toMatchObject({ archive_url: null });
    const again = await switchOn(campaign);
    expect(again).toBe(scene.url + address);
    const renewed = await readAddress(campaign.call('POST', '/team/archive/renew'));
    expect(renewed).not.toBe(again);
    await isNone(address, `${address}/${id}`);
    expect((await visit(scene, `${renewed}/${id}`)).status).toBe(200);
    await requestDeletion(scene.app.world, {
      team: campaign.team.id,
      reason: 'The contract ended',
      requestedBy: 'root',
      isNow: false,
    });
    await isNone(new URL(renewed).pathname, `${new URL(renewed).pathname}/${id}`);
    expect((await visit(scene, other.address, { method: 'POST' })).status).toBe(405);
  });

  it('search engines may list the pages only if the team allows it, and never those with remote images', async () => {
    const campaign = await archiveIn();
    const id = await publish(campaign, 'Found');
    const marks = async (path: string) => {
      const { headers, html } = await visit(scene, campaign.address + path);
      return [headers['x-robots-tag'], /<meta name="robots" content="(.*?)">/.exec(html)?.[1]];
    };
    const closed = ['noindex, nofollow, noarchive', 'noindex, nofollow'];
    expect([await marks(''), await marks(`/${id}`)]).toEqual([closed, closed]);
    await campaign.call('PATCH', '/team', { archive_indexed: true });
    const open = [undefined, undefined];
    expect([await marks(''), await marks(`/${id}`)]).toEqual([open, open]);
    expect([await marks(`/${id}?images=1`), await marks(`/${UNKNOWN}`)]).toEqual([closed, closed]);
  });

  it('the pages are in the language of their reader, with the logo and the color of the team', async () => {
    const campaign = await archiveIn();
    const logo = 'https://cdn.example/logo.png';
    await campaign.call('PATCH', '/team', { logo_url: logo, accent_color: '#aa0055', default_language: 'pl' });
    const id = await publish(campaign, 'Worded');
    for (const language of LANGUAGES) {
      const headers = { 'accept-language': language };
      const texts = READER_TEXTS[language];
      const list = await visit(scene, campaign.address, { headers });
      expect(list.html, language).toContain(`<html lang="${language}">`);
      expect(list.text, language).toContain(texts.archiveOf.replace('{sender}', 'Example Ltd'));
      const page = await visit(scene, `${campaign.address}/${id}`, { headers });
      expect(page.text, language).toContain(texts.allNewsletters);
      for (const { html, headers: answered } of [list, page]) {
        expect(html, language).toContain(`<img src="${logo}" alt="Example Ltd">`);
        expect(answered['content-security-policy'], language).toContain(logo);
        expect(html, language).toContain('--accent:#aa0055');
      }
    }
    expect((await visit(scene, campaign.address)).html).toContain('<html lang="pl">');
    const { data } = (await campaign.read('/broadcasts')) as { data: { created_at: string }[] };
    const day = new Date(data[0]?.created_at ?? '');
    const german = new Intl.DateTimeFormat('de', { dateStyle: 'long', timeZone: 'UTC' }).format(day);
    expect((await visit(scene, campaign.address, { headers: { 'accept-language': 'de' } })).html).toContain(
      `<time datetime="${day.toISOString().slice(0, 10)}">${german}</time>`,
    );
  });

  it('the list has the broadcast that was sent last first, 20 on a page, with links to newer and older ones', async () => {
    const campaign = await archiveIn();
    const { db } = scene.app.world;
    const subjects: string[] = [];
    for (let number = 1; number <= 42; number++) {
      const id = await campaign.broadcast({ subject: `${number}`, archive: true, send: false });
      // The last draft is the first one that was sent; two began in the same millisecond.
      const at = 1_700_000_000_000 + DAY * (number === 2 ? 1 : number % 42);
      await db.run("update broadcasts set status = 'sent', recipients = 1, started_at = ? where id = ?", [at, id]);
      if (number < 42) subjects.unshift(`${number}`);
    }
    subjects.push('42');
    const walk = async (link: 'next' | 'prev', from: string): Promise<string[][]> => {
      const pages: string[][] = [];
      for (let query: string | undefined = from; query !== undefined;) {
        pages.push(await listed(campaign, query));
        const { html }: Visited = await visit(scene, campaign.address + query);
        query = new RegExp(`href="[^"]*(\\?[^"]*)" rel="${link}"`).exec(html)?.[1];
      }
      return pages;
    };
    const pages = await walk('next', '');
    expect(pages).toEqual([subjects.slice(0, 20), subjects.slice(20, 40), subjects.slice(40)]);
    const last = (await visit(scene, campaign.address)).html;
    const second = /(\?after=[^"]*)"/.exec(last)?.[1] ?? '';
    expect(await walk('prev', second)).toEqual([subjects.slice(20, 40), subjects.slice(0, 20)]);
    const plans = await explainQueries(db, () => visit(scene, campaign.address + second), 'order by started_at');
    expect(plans.length).toBeGreaterThan(0);
    // PostgreSQL reads so small a table as a whole.
    if (db.dialect === 'sqlite') {
      for (const plan of plans) {
        expect(plan).toContain('broadcasts_archived (team_id=? AND (started_at,id)<(?,?))');
        expect(plan).not.toContain('TEMP B-TREE');
      }
    }
  });

  it('an A/B test shows its first subject, and the winner once it is decided', async () => {
    const campaign = await archiveIn();
    const ab = { subjects: ['Second {{{FIRST_NAME|one}}}'], test_percent: 50, wait_minutes: 60 };
    const id = await publish(campaign, 'First', { ab });
    const { db } = scene.app.world;
    // With a single contact, nobody may be in the test.
    await db.run('update broadcasts set recipients = 1 where id = ?', [id]);
    expect(await listed(campaign)).toEqual(['First']);
    const decision = JSON.stringify({ winner: 1, decided_by: 'clicks', counts: [] });
    await db.run('update broadcasts set ab_decision = ? where id = ?', [decision, id]);
    expect(await listed(campaign)).toEqual(['Second one']);
    expect((await visit(scene, `${campaign.address}/${id}`)).html).toContain('<bdi>Second one</bdi></h1>');
  });

  it('a page outlasts the report, and shows the version of its template that was sent', async () => {
    const campaign = await archiveIn();
    const template = await campaign.make('/templates', { name: 'News', subject: 'News', html: '<p>Sent words</p>' });
    await campaign.call('POST', `/templates/${template}/publish`);
    const id = await publish(campaign, 'Old', { html: undefined, template: { id: template } });
    await campaign.call('PATCH', `/templates/${template}`, { html: '<p>Later words</p>' });
    await campaign.call('POST', `/templates/${template}/publish`);
    scene.clock.advance(40 * DAY);
    await removeExpired(scene);
    const { db } = scene.app.world;
    expect(await db.get('select body_id from broadcasts where id = ?', [id])).toEqual({ body_id: null });
    const { status, html } = await visit(scene, `${campaign.address}/${id}`);
    expect([status, html.includes('Sent words'), html.includes('Later words')]).toEqual([200, true, false]);
    expect(html).not.toContain('Adalbertina');
  });
});
