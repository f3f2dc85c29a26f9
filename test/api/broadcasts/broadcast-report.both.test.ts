import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { countClicks } from '../../../src/features/campaigns/broadcast-recipients/links.store.ts';
import { countOutcomes } from '../../../src/features/campaigns/broadcast-recipients/outcomes.store.ts';
import {
  insertRecipients,
  recipientsAmong,
  type NewRecipientRow,
} from '../../../src/features/campaigns/broadcast-recipients/broadcast-recipients.store.ts';
import type { BroadcastOutcome } from '../../../src/features/campaigns/broadcast-recipients/outcome.ts';
import { startScene, type Scene } from '../../rig/scene.ts';
import { openDesk, said, type Desk } from './drafting.ts';

let scene: Scene;
beforeAll(async () => {
  scene = await startScene({ roles: ['http'] });
});
afterAll(() => scene.close());

interface Report {
  desk: Desk;
  id: string;
  /** Ids of emails by the local part of the address. */
  emails: Record<string, string>;
  contacts: Record<string, string>;
  count(outcomes: readonly BroadcastOutcome[]): Promise<void>;
  /** Returns the local parts of a page, in order. */
  names(query: string): Promise<string[]>;
  page(path: string): Promise<Record<string, unknown>[]>;
}

/** Creates a broadcast to addresses of contacts; those whose name begins with x are excluded. */
async function reported(names: readonly string[]): Promise<Report> {
  const desk = await openDesk(scene);
  const id = await desk.make();
  const { db, ids } = scene.app.world;
  const contacts: Record<string, string> = {};
  const rows: NewRecipientRow[] = [];
  for (const name of names) {
    const email = `${name}@example.org`;
    contacts[name] = (await desk.call('POST', '/contacts', { email })).body.id;
    const excluded = name.startsWith('x') ? ('unsubscribed' as const) : null;
    rows.push({
      broadcast_id: id,
      email_key: email.toLowerCase(),
      id: ids.uuid(),
      contact_id: contacts[name] ?? null,
      email,
      email_id: excluded ? null : ids.uuid(),
      excluded,
    });
  }
  expect(await db.tx((tx) => insertRecipients(tx, rows))).toBe(rows.length);
  const page = async (path: string) => (await desk.call('GET', `/broadcasts/${id}/${path}`)).body.data;
  return {
    desk,
    id,
    contacts,
    page,
    emails: Object.fromEntries(rows.map((row) => [row.email.split('@')[0], row.email_id ?? ''])),
    count: (outcomes) =>
      db.tx(async (tx) => {
        await countOutcomes(tx, ids, outcomes);
        await countClicks(tx, () => ids.uuid(), outcomes);
      }),
    names: async (query) =>
      (await page(`recipients?${query}`)).map((one: { email: string }) => one.email.split('@')[0]),
  };
}

const TYPES = ['sent', 'delivered', 'opened', 'clicked', 'bounced', 'complained', 'unsubscribed', 'suppressed'];

describe('GET /broadcasts/{id}/recipients', () => {
  it('lists the recipients of each type, with the matching count', async () => {
    const { desk, id, emails, contacts, count, names, page } = await reported(['a', 'b', 'c', 'd', 'e', 'f', 'x']);
    const of = (name: string, type: string, more = {}) => ({ emailId: emails[name] ?? '', type, ...more });
    await count(['a', 'b', 'c', 'd'].map((name) => of(name, 'email.sent')));
    await count([
      of('a', 'email.delivered'),
      of('b', 'email.delivered'),
      of('a', 'email.opened'),
      of('a', 'email.opened'),
      of('c', 'email.bounced', { bounce: 'permanent' }),
      of('d', 'email.bounced', { bounce: 'transient' }),
      of('b', 'email.complained'),
      of('a', 'email.unsubscribed'),
      of('e', 'email.suppressed'),
      of('f', 'email.bounced'),
      // No report counts these, nor an email of no broadcast.
      of('a', 'email.queued'),
      of('a', 'toString'),
      { emailId: scene.app.world.ids.uuid(), type: 'email.sent' },
    ]);
    await count([
      of('a', 'email.opened'),
      of('a', 'email.opened', { isMachine: true }),
      of('b', 'email.opened', { isMachine: true }),
    ]);
    // It counts however often it happened to each of them.
    await count([of('c', 'email.bounced', { bounce: 'permanent' }), of('b', 'email.complained')]);
    expect((await desk.get(id)).counts).toEqual({
      sent: 4,
      delivered: 2,
      opened: 1,
      clicked: 0,
      bounced: 3,
      complained: 1,
      unsubscribed: 1,
      suppressed: 1,
    });
    const found: Record<string, string> = {};
    for (const type of TYPES) found[type] = (await names(`type=${type}`)).join('');
    expect(found).toEqual({
      sent: 'dcba',
      delivered: 'ba',
      opened: 'a',
      clicked: '',
      bounced: 'fdc',
      complained: 'b',
      unsubscribed: 'a',
      suppressed: 'e',
    });
    const [opened] = await page('recipients?type=opened');
    expect(opened).toEqual({
      id: opened?.['id'],
      contact_id: contacts['a'],
      email: 'a@example.org',
      count: 3,
      machine_count: 1,
    });
    const bounced = await page('recipients?type=bounced');
    expect(bounced.map((one) => one['bounce_type'])).toEqual(['undetermined', 'transient', 'permanent']);
    expect(await names('type=bounced&bounce_type=permanent')).toEqual(['c']);
    expect(await names('type=bounced&bounce_type=transient&email=C%40')).toEqual([]);
    const [sent] = await page('recipients?type=sent&limit=1');
    expect(Object.keys(sent ?? {})).toEqual(['id', 'contact_id', 'email']);
    expect(said(await desk.call('GET', `/broadcasts/${id}/recipients?type=sent&bounce_type=permanent`))).toEqual([
      422,
      'invalid_parameter',
    ]);
  });

  it('finds part of an address in any letter case, and pages in both directions', async () => {
    const { emails, count, names, page } = await reported(['ada', 'bob', 'adam', 'eve_1', 'evex1', 'Ada.B']);
    await count(Object.values(emails).map((emailId) => ({ emailId, type: 'email.sent' })));
    expect(await names('type=sent&email=ADA')).toEqual(['Ada.B', 'adam', 'ada']);
    expect(await names('type=sent&email=_1')).toEqual(['eve_1']);
    expect(await names('type=sent&email=%25')).toEqual([]);
    const [first, second] = await page('recipients?type=sent&email=ada&limit=2');
    expect(await names(`type=sent&email=ada&limit=2&after=${second?.['id']}`)).toEqual(['ada']);
    expect(await names(`type=sent&email=ada&limit=1&before=${second?.['id']}`)).toEqual(['Ada.B']);
    expect(await names(`type=sent&limit=2&after=${first?.['id']}`)).toEqual(['evex1', 'eve_1']);
    expect(await names('type=delivered&email=ada')).toEqual([]);
  });

  it('shows neither id nor address of a contact that was deleted since', async () => {
    const { id, desk, contacts, emails, count, names, page } = await reported(['a', 'xb', 'c']);
    await count([{ emailId: emails['a'] ?? '', type: 'email.sent' }]);
    // This is the state of a sent broadcast.
    await scene.app.world.db.run('update broadcasts set body_id = id where id = ?', [id]);
    await desk.call('DELETE', `/contacts/${contacts['a']}`);
    await desk.call('DELETE', `/contacts/${contacts['xb']}`);
    expect(await page('recipients?type=sent')).toMatchObject([{ contact_id: null, email: null }]);
    expect(await page('exclusions')).toMatchObject([{ contact_id: null, email: null }]);
    // The placeholder of the address is not found by its own content.
    expect(await page('recipients?type=sent&email=a')).toEqual([]);
    const rows = await scene.app.world.db.all('select * from broadcast_recipients where broadcast_id = ?', [id]);
    expect(JSON.stringify(rows)).not.toMatch(/"(a|xb)@/);
    expect(JSON.stringify(rows)).toMatch(/"c@/);
    await count([{ emailId: emails['a'] ?? '', type: 'email.delivered' }]);
    expect(await page('recipients?type=delivered')).toHaveLength(1);
    const { db } = scene.app.world;
    expect(await recipientsAmong(db, id, ['a@example.org', 'b@example.org'])).toEqual(new Set(['a@example.org']));
    expect(await names('type=opened')).toEqual([]);
  });

  it.each([
    ['', 'missing_required_parameter'],
    ['?type=queued', 'invalid_parameter'],
    ['?type=bounced&bounce_type=soft', 'invalid_parameter'],
    ['?type=sent&email=', 'invalid_parameter'],
    ['?type=sent&email=%20', 'invalid_parameter'],
    ['?type=sent&limit=101', 'invalid_parameter'],
  ])('refuses %j', async (query, name) => {
    const desk = await openDesk(scene);
    const id = await desk.make();
    expect(said(await desk.call('GET', `/broadcasts/${id}/recipients${query}`))).toEqual([422, name]);
  });
});

describe('clicks of a broadcast', () => {
  it('are counted by link, by recipient, and by both', async () => {
    const { emails, count, page } = await reported(['a', 'b', 'c']);
    const click = (name: string, link: string) => ({ emailId: emails[name] ?? '', type: 'email.clicked', link });
    const one = 'https://example.com/1';
    const two = `https://example.com/${'2'.repeat(3000)}`;
    await count([click('a', one), click('a', one), click('b', one)]);
    await count([click('a', one), click('a', two), click('c', one), { ...click('c', one), link: undefined }]);
    const links = await page('clicked-links');
    expect(links).toEqual([
      { id: links[0]?.['id'], url: two, clicks: 1, unique_clicks: 1, machine_clicks: 0 },
      { id: links[1]?.['id'], url: one, clicks: 5, unique_clicks: 3, machine_clicks: 0 },
    ]);
    expect(await page('clicked-links?limit=1')).toEqual([links[0]]);
    expect(await page(`clicked-links?after=${links[0]?.['id']}`)).toEqual([links[1]]);
    const clicked = await page('recipients?type=clicked');
    expect(clicked.map(({ email, count: n, clicked_links: list }) => [email, n, list])).toEqual([
      ['c@example.org', 2, [{ url: one, clicks: 1 }]],
      ['b@example.org', 1, [{ url: one, clicks: 1 }]],
      [
        'a@example.org',
        4,
        [
          { url: one, clicks: 3 },
          { url: two, clicks: 1 },
        ],
      ],
    ]);
  });

  it('share one count for all links beyond the first thousand', async () => {
    const { emails, count, page } = await reported(['a', 'b']);
    const click = (name: string, n: number) => ({
      emailId: emails[name] ?? '',
      type: 'email.clicked',
      link: `https://example.com/?reader=${n}`,
    });
    const range = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, i) => from + i);
    await count(range(0, 990).map((n) => click('a', n)));
    await count(range(980, 1030).map((n) => click('a', n)));
    await count([...range(1030, 1040).map((n) => click('b', n)), click('b', 5)]);
    const links: Record<string, unknown>[] = [];
    for (let after = ''; ;) {
      const part = await page(`clicked-links?limit=100${after}`);
      links.push(...part);
      if (part.length < 100) break;
      after = `&after=${part.at(-1)?.['id']}`;
    }
    expect(links).toHaveLength(1001);
    // Thirty are of the first reader, ten of the second.
    expect(links.find(({ url }) => url === 'other')).toMatchObject({ clicks: 40, unique_clicks: 2 });
    expect(links.find(({ url }) => url === 'https://example.com/?reader=5')).toMatchObject({
      clicks: 2,
      unique_clicks: 2,
    });
    expect(links.reduce((sum, { clicks }) => sum + Number(clicks), 0)).toBe(990 + 50 + 11);
    const [b] = await page('recipients?type=clicked');
    expect(b?.['clicked_links']).toEqual([
      { url: 'other', clicks: 10 },
      { url: 'https://example.com/?reader=5', clicks: 1 },
    ]);
  });

  it('by machines are counted only alongside clicks by people, never on their own', async () => {
    const { emails, count, page } = await reported(['a', 'b']);
    const click = (name: string, link: string, isMachine: boolean) => ({
      emailId: emails[name] ?? '',
      type: 'email.clicked',
      link,
      isMachine,
    });
    const one = 'https://example.com/1';
    const two = 'https://example.com/2';
    await count([click('a', one, true), click('a', one, false), click('b', one, true), click('b', two, true)]);
    await count([click('a', one, true)]);
    const links = await page('clicked-links');
    expect(links).toEqual([{ id: links[0]?.['id'], url: one, clicks: 1, unique_clicks: 1, machine_clicks: 3 }]);
    expect(await page('recipients?type=clicked')).toMatchObject([
      { email: 'a@example.org', count: 1, machine_count: 2, clicked_links: [{ url: one, clicks: 1 }] },
    ]);
    // A later click by a person is the first.
    await count([click('b', two, false)]);
    const all = (await page('clicked-links')).toSorted((a, b) => (String(a['url']) < String(b['url']) ? -1 : 1));
    expect(all).toMatchObject([
      { url: one, clicks: 1, unique_clicks: 1, machine_clicks: 3 },
      { url: two, clicks: 1, unique_clicks: 1, machine_clicks: 1 },
    ]);
  });

  it('of the same links that are counted concurrently are all counted', async () => {
    const { emails, count, page } = await reported(['a', 'b']);
    const link = 'https://example.com/';
    const clicks = ['a', 'b'].map((name) => ({ emailId: emails[name] ?? '', type: 'email.clicked', link }));
    await Promise.all(Array.from({ length: 8 }, (_, i) => count(i % 2 === 0 ? clicks : clicks.toReversed())));
    expect(await page('clicked-links')).toMatchObject([{ clicks: 16, unique_clicks: 2 }]);
    expect(await page('recipients?type=clicked')).toMatchObject([{ count: 8 }, { count: 8 }]);
  });
});

describe('GET /broadcasts/{id}/exclusions', () => {
  it('lists the excluded contacts with the reasons', async () => {
    const { contacts, page } = await reported(['a', 'xb', 'xc']);
    const [first] = await page('exclusions?limit=1');
    expect(first).toEqual({
      id: first?.['id'],
      contact_id: contacts['xc'],
      email: 'xc@example.org',
      reason: 'unsubscribed',
    });
    expect(await page(`exclusions?after=${first?.['id']}`)).toMatchObject([{ email: 'xb@example.org' }]);
  });
});

describe('an address in a broadcast', () => {
  it('is one row, whichever contact has it', async () => {
    const { id } = await reported(['a', 'xb']);
    const { db, ids } = scene.app.world;
    const again = ['a@example.org', 'xb@example.org', 'c@example.org'].map((email) => ({
      broadcast_id: id,
      email_key: email,
      id: ids.uuid(),
      contact_id: ids.uuid(),
      email,
      email_id: ids.uuid(),
      excluded: null,
    }));
    const keys = again.map((row) => row.email_key);
    expect(await recipientsAmong(db, id, keys)).toEqual(new Set(keys.slice(0, 2)));
    expect(await db.tx((tx) => insertRecipients(tx, again))).toBe(1);
    expect(await recipientsAmong(db, id, keys)).toEqual(new Set(keys));
  });
});
