import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { audiencePage, countAudience, countAudiences } from '../../../src/features/audience/contacts/audience.store.ts';
import { filteredContacts } from '../../../src/features/audience/contacts/find-contact.ts';
import { findContactsByIds } from '../../../src/features/audience/contacts/contacts.store.ts';
import { createContact } from '../../../src/features/audience/contacts/create-contacts.ts';
import { declaredFor } from '../../../src/features/audience/segments/segments.ts';
import {
  hashLink,
  hashPlainLink,
  meetsFilter,
  parseFilter,
  renderFilter,
  type Declared,
  type Filter,
  type FilteredContact,
} from '../../../src/protocol/contact-filter/index.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

const CONTACTS = 150;
const FILTERS = 120;

const TEXTS = [
  '',
  'Ana',
  'ana',
  'ANA',
  'Änne',
  'a\u0308nne',
  'İstanbul',
  'istanbul',
  'straße',
  'STRASSE',
  'ﬁn',
  '42',
  '4.2',
  'null',
  'true',
  '%',
  '_',
  'a%',
  "o'neil",
  '日本',
  '😀',
  ' ana',
  '\\',
  '"',
];
const NUMBERS = [
  0,
  -0,
  1,
  -1,
  42,
  4.2,
  0.1,
  0.30000000000000004,
  1e15,
  -1e15,
  999999999999999,
  1e-9,
  1e-16,
  123456.789012345,
  1 / 3,
  9007199254,
  2 ** 31,
  2 ** 40 + 0.5,
];

let scene: Scene;
let team: Team;
let declared: Declared;
const contacts = new Map<string, FilteredContact>();
const times: number[] = [];
/** The segments of the test by their ids: their filter, if they have one, and the contacts that were added to them. */
const segments = new Map<string, { filter: object | null; members: ReadonlySet<string> }>();
const broadcasts: string[] = [];
const LINKS = ['https://example.com/', 'https://example.com/offer?x=1'];
const EVENTS = ['cart.abandoned', 'paid'];
const DAYS = [1, 7, 30, 3650];
const DAY_MS = 86_400_000;
/** The rows on which a filter is a condition. */
const FROM = 'contacts c left join contact_engagement e on e.team_id = c.team_id and e.contact_id = c.id';

const text = fc.constantFrom(...TEXTS);
const number = fc.oneof(
  fc.constantFrom(...NUMBERS),
  fc.double({ min: -1e15, max: 1e15, noNaN: true }),
  fc.integer({ min: -50, max: 50 }),
);

beforeAll(async () => {
  scene = await startScene({ roles: ['http'] });
  team = await scene.team();
  const post = async (path: string, body: object) =>
    (await scene.api('POST', path, { key: team.key, body })).body.id as string;
  for (const [key, type] of [
    ['plan', 'string'],
    ['city', 'string'],
    ['score', 'number'],
    ['seats', 'number'],
  ]) {
    await post('/contact-properties', { key, type });
  }
  // Only an import can declare a boolean.
  const property = { id: '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2eb0', key: 'vip', type: 'boolean' };
  await scene.app.world.db.insertMany(
    'contact_properties',
    ['id', 'team_id', 'key', 'key_folded', 'type', 'slot', 'created_at'],
    [[property.id, team.id, property.key, property.key, property.type, 5, scene.clock.now()]],
  );
  const wanted = await post('/topics', { name: 'Wanted', default_subscription: 'opt_in' });
  const unwanted = await post('/topics', { name: 'Unwanted', default_subscription: 'opt_out' });
  const { world } = scene.app;
  const ctx = { store: world, teamId: team.id, actor: { kind: 'job', name: 'test' } as const, requestId: 'test' };
  const fields = fc.record(
    {
      first_name: fc.option(text),
      last_name: fc.option(text),
      unsubscribed: fc.boolean(),
      properties: fc.record(
        { plan: text, city: text, score: number, seats: number, vip: fc.boolean() },
        { requiredKeys: [] },
      ),
      topics: fc.subarray([
        { id: wanted, subscription: 'opt_out' as const },
        { id: unwanted, subscription: 'opt_in' as const },
      ]),
    },
    { requiredKeys: [] },
  );
  const ids: string[] = [];
  for (const [i, more] of fc.sample(fields, { numRuns: CONTACTS, seed: 7 }).entries()) {
    scene.clock.advance(i % 3 === 0 ? 0 : 60_000);
    const email = i % 2 === 0 ? `ana.${i}@example.org` : `BOB+${i}@Bücher.example`;
    ids.push((await createContact(ctx, { email, ...more })).id);
  }
  for (const name of EVENTS) await post('/events', { name });
  for (const subject of ['First', 'Second']) {
    const draft = { from: 'News <news@example.org>', subject, html: '<p>Hi</p>' };
    broadcasts.push(await writeBroadcast(draft));
  }
  const opened = { engagement: 'opened' };
  const inner = await makeSegment(
    { any: [{ field: 'properties.plan', op: 'eq', value: 'ana' }, { not: [opened] }] },
    ids.slice(0, 20),
  );
  await makeSegment({ not: [{ segment: inner }, { field: 'properties.score', op: 'gt', value: 0 }] }, []);
  await makeSegment(null, ids.slice(10, 60));
  await writeEngagement(ids);
  const everything = {
    any: [
      ...[...segments.keys()].map((segment) => ({ segment })),
      ...broadcasts.flatMap((broadcast) => LINKS.map((link) => ({ engagement: 'clicked', broadcast, link }))),
      ...LINKS.map((link) => ({ engagement: 'clicked', link })),
      ...EVENTS.map((event) => ({ event })),
    ],
  };
  declared = await declaredFor(world.db, team.id, { filters: [everything], now: scene.clock.now() });
  const rows = await findContactsByIds(world.db, team.id, ids);
  const { filter, faults } = parseFilter(everything, declared);
  expect(faults).toEqual([]);
  for (const [id, seen] of await filteredContacts(world.db, rows, [filter])) contacts.set(id, seen);
  times.push(...rows.map((row) => Number(row.created_at)));

  async function makeSegment(filter: object | null, members: readonly string[]): Promise<string> {
    const id = await post('/segments', { name: `Segment ${segments.size}`, ...(filter && { filter }) });
    await world.db.insertMany(
      'segment_members',
      ['segment_id', 'contact_id'],
      members.map((one) => [id, one]),
    );
    segments.set(id, { filter, members: new Set(members) });
    return id;
  }
});

async function writeBroadcast(draft: { from: string; subject: string; html: string }): Promise<string> {
  const { db, ids, clock } = scene.app.world;
  const id = ids.uuid();
  await db.insertMany(
    'broadcasts',
    ['id', 'team_id', 'name', 'status', 'sender', 'subject', 'html', 'reply_to_list', 'created_at', 'updated_at'],
    [[id, team.id, draft.subject, 'draft', draft.from, draft.subject, draft.html, '[]', clock.now(), clock.now()]],
  );
  return id;
}

/** Writes what contacts did, at the edges of the periods that the filters name. */
async function writeEngagement(contactIds: readonly string[]): Promise<void> {
  const { db, ids, clock } = scene.app.world;
  const time = fc
    .tuple(fc.constantFrom(...DAYS), fc.constantFrom(-1, 0, 1))
    .map(([days, shift]) => clock.now() - days * DAY_MS + shift);
  const maybe = fc.option(time);
  const count = fc.constantFrom(0, 0, 1, 2);
  const did = fc.record({
    hasMail: fc.boolean(),
    times: fc.tuple(maybe, maybe, maybe, maybe, maybe),
    reports: fc.tuple(...broadcasts.map(() => fc.option(fc.tuple(count, count, count, count)))),
    links: fc.tuple(...LINKS.map(() => maybe)),
    inBroadcast: fc.tuple(...LINKS.map(() => fc.boolean())),
    events: fc.tuple(...EVENTS.map(() => maybe)),
  });
  const linkIds = LINKS.map(() => ids.uuid());
  for (const broadcast of broadcasts)
    await db.insertMany(
      'broadcast_links',
      ['broadcast_id', 'url_hash', 'plain_hash', 'id', 'url'],
      LINKS.map((url, at) => [
        broadcast,
        hashLink(url),
        hashPlainLink(url),
        `${linkIds[at]?.slice(0, -1)}${broadcasts.indexOf(broadcast)}`,
        url,
      ]),
    );
  const events = await db.all<{ id: string; name: string }>('select id, name from custom_events where team_id = ?', [
    team.id,
  ]);
  for (const [
    at,
    {
      hasMail,
      times: [first, ...last],
      ...one
    },
  ] of fc.sample(did, { numRuns: contactIds.length, seed: 5 }).entries()) {
    const contactId = contactIds[at] ?? '';
    const insert = (table: string, row: Record<string, string | number | null>): Promise<number> =>
      db.insertMany(table, Object.keys(row), [Object.values(row)]);
    if (hasMail)
      await insert('contact_engagement', {
        team_id: team.id,
        contact_id: contactId,
        first_sent_at: first,
        last_sent_at: last[0],
        last_delivered_at: last[1],
        last_opened_at: last[2],
        last_clicked_at: last[3],
      });
    for (const [i, broadcast] of broadcasts.entries()) {
      const counts = one.reports[i];
      if (!counts) continue;
      const emailId = ids.uuid();
      await insert('broadcast_recipients', {
        broadcast_id: broadcast,
        email_key: `${at}@example.org`,
        id: ids.uuid(),
        contact_id: contactId,
        email: `${at}@example.org`,
        email_id: emailId,
        sent: counts[0],
        delivered: counts[1],
        opened: counts[2],
        clicked: counts[3],
      });
      for (const [link, isClicked] of one.inBroadcast.entries()) {
        const linkId = `${linkIds[link]?.slice(0, -1)}${i}`;
        if (isClicked) await insert('broadcast_link_clicks', { email_id: emailId, link_id: linkId, clicks: 1 });
      }
    }
    for (const [link, lastAt] of one.links.entries()) {
      const key = { team_id: team.id, url_hash: hashLink(LINKS[link] ?? ''), contact_id: contactId };
      if (lastAt !== null) await insert('contact_link_clicks', { ...key, last_at: lastAt });
    }
    for (const [event, lastAt] of one.events.entries()) {
      const id = events.find(({ name }) => name === EVENTS[event])?.id ?? '';
      if (lastAt !== null)
        await insert('contact_custom_events', {
          custom_event_id: id,
          contact_id: contactId,
          last_at: lastAt,
          count: 1,
        });
    }
  }
}
afterAll(() => scene.close());

/** Returns a time as somebody might write it, in one of several zones. */
function written(ms: number, zone: number): string {
  const sign = zone < 0 ? '-' : '+';
  const offset = `${String(Math.trunc(Math.abs(zone) / 60)).padStart(2, '0')}:${String(Math.abs(zone) % 60).padStart(2, '0')}`;
  return new Date(ms + zone * 60_000).toISOString().replace('Z', `${sign}${offset}`);
}

function condition() {
  const created = fc.tuple(fc.nat({ max: CONTACTS - 1 }), fc.constantFrom(-1, 0, 1), fc.constantFrom(0, 90, -330, 840));
  const one = (field: string, ops: string[], value: fc.Arbitrary<unknown>) =>
    fc.record({ field: fc.constant(field), op: fc.constantFrom(...ops), value });
  const many = (field: string, value: fc.Arbitrary<unknown>) =>
    fc.record({
      field: fc.constant(field),
      op: fc.constant('in'),
      value: fc.array(value, { minLength: 1, maxLength: 4 }),
    });
  const exists = (field: string) =>
    fc.record({ field: fc.constant(field), op: fc.constant('exists'), value: fc.boolean() });
  const part = text.filter((value) => value !== '');
  const address = fc.oneof(
    part,
    fc.constantFrom('ANA.0@example.org', 'bob+1@bücher.example', 'bob+1@xn--bcher-kva.example', 'example'),
  );
  const texts = ['first_name', 'last_name', 'properties.plan', 'properties.city'].flatMap((field) => [
    one(field, ['eq', 'neq'], text),
    one(field, ['contains'], part),
    many(field, text),
    exists(field),
  ]);
  const numbers = ['properties.score', 'properties.seats'].flatMap((field) => [
    one(field, ['eq', 'neq', 'gt', 'gte', 'lt', 'lte'], number),
    many(field, number),
    exists(field),
  ]);
  return fc.oneof(
    ...texts,
    ...numbers,
    one('email', ['eq', 'neq', 'contains'], address),
    many('email', address),
    one('unsubscribed', ['eq'], fc.boolean()),
    one('properties.vip', ['eq', 'neq'], fc.boolean()),
    exists('properties.vip'),
    created.chain(([at, shift, zone]) =>
      one('created_at', ['gt', 'gte', 'lt', 'lte'], fc.constant(written((times[at] ?? 0) + shift, zone))),
    ),
    one('created_at', ['gt', 'gte', 'lt', 'lte'], fc.constantFrom(...DAYS.map((days) => `now-${days}d`))),
    fc.record(
      {
        engagement: fc.constantFrom('sent', 'delivered', 'opened', 'clicked'),
        within_days: fc.constantFrom(...DAYS),
      },
      { requiredKeys: ['engagement'] },
    ),
    fc.record({ engagement: fc.constant('inactive'), within_days: fc.constantFrom(...DAYS) }),
    fc.record({
      engagement: fc.constantFrom('sent', 'delivered', 'opened', 'clicked'),
      broadcast: fc.constantFrom(...broadcasts),
    }),
    fc.record(
      {
        engagement: fc.constant('clicked'),
        link: fc.constantFrom(...LINKS),
        within_days: fc.constantFrom(...DAYS),
      },
      { requiredKeys: ['engagement', 'link'] },
    ),
    fc.record({
      engagement: fc.constant('clicked'),
      link: fc.constantFrom(...LINKS),
      broadcast: fc.constantFrom(...broadcasts),
    }),
    fc.record(
      { event: fc.constantFrom(...EVENTS), within_days: fc.constantFrom(...DAYS) },
      { requiredKeys: ['event'] },
    ),
    fc.record({ segment: fc.constantFrom(...segments.keys()) }),
    fc.record({
      topic: fc.constantFrom(...declared.topics.map(({ id }) => id)),
      subscription: fc.constantFrom('opt_in', 'opt_out'),
    }),
  );
}

function filters(): fc.Arbitrary<object> {
  const group = (part: fc.Arbitrary<unknown>) =>
    fc
      .tuple(fc.constantFrom('all', 'any', 'not'), fc.array(part, { minLength: 1, maxLength: 3 }))
      .map(([kind, of]) => ({
        [kind]: of,
      }));
  const leaf = condition();
  return fc.oneof(leaf, group(leaf), group(fc.oneof(leaf, group(leaf))));
}

/** Evaluates a filter by Kleene's logic, independent of the implementation; undefined is unknown. */
function decide(input: object, isMember: (leaf: object) => boolean | undefined): boolean | undefined {
  const [entry] = Object.entries(input);
  if (!entry || !['all', 'any', 'not'].includes(entry[0])) return isMember(input);
  const [kind, parts] = entry as [string, object[]];
  const decided = parts.map((part) => decide(part, isMember));
  const isAll = kind === 'all';
  const whole = decided.includes(!isAll) ? !isAll : decided.includes(undefined) ? undefined : isAll;
  return kind === 'not' && whole !== undefined ? !whole : whole;
}

it('filters that name a missing property match by three-valued logic, in the database and in memory', async () => {
  const { db } = scene.app.world;
  const gone = new Set(['properties.plan', 'properties.score', 'properties.vip']);
  const left: Declared = {
    ...declared,
    properties: declared.properties.filter(({ key }) => !gone.has(`properties.${key}`)),
  };
  let matched = 0;
  let changed = 0;
  for (const input of fc.sample(filters(), { numRuns: FILTERS, seed: 13 })) {
    const { filter } = parseFilter(input, left);
    const expected = [...contacts].filter(([id, contact]) => {
      const isMember = (leaf: object): boolean | undefined => {
        if ('field' in leaf && gone.has(leaf.field as string)) return undefined;
        const segment = 'segment' in leaf ? segments.get(leaf.segment as string) : undefined;
        if (!segment) return meetsFilter(parseFilter(leaf, left).filter, contact);
        if (segment.members.has(id)) return true;
        return segment.filter === null ? false : decide(segment.filter, isMember);
      };
      return decide(input, isMember) === true;
    });
    const ids = expected.map(([id]) => id).sort();
    const met = [...contacts].filter(([, contact]) => meetsFilter(filter, contact)).map(([id]) => id);
    expect(met.sort(), JSON.stringify(input)).toEqual(ids);
    const page = await audiencePage(db, team.id, { filter }, { limit: CONTACTS });
    expect(
      page.map(({ id }) => id),
      JSON.stringify(input),
    ).toEqual(ids.toReversed());
    const { sql, values } = renderFilter(filter, db.dialect);
    const rows = await db.all<{ id: string }>(`select c.id from ${FROM} where c.team_id = ? and ${sql} order by c.id`, [
      team.id,
      ...values,
    ]);
    expect(
      rows.map(({ id }) => id),
      JSON.stringify(input),
    ).toEqual(ids);
    matched += ids.length;
    const before = parseFilter(input, declared).filter;
    if ([...contacts.values()].some((one) => meetsFilter(before, one) !== meetsFilter(filter, one))) changed++;
  }
  expect(matched).toBeGreaterThan(FILTERS * CONTACTS * 0.05);
  expect(changed).toBeGreaterThan(FILTERS * 0.1);
});

it(`the database and the evaluator agree on ${FILTERS * CONTACTS} filter results`, async () => {
  const { db } = scene.app.world;
  let matched = 0;
  const counted: { filter: Filter; size: number }[] = [];
  for (const input of fc.sample(filters(), { numRuns: FILTERS, seed: 11 })) {
    const { filter, faults } = parseFilter(input, declared);
    expect(faults, JSON.stringify(input)).toEqual([]);
    const expected = [...contacts].filter(([, contact]) => meetsFilter(filter, contact)).map(([id]) => id);
    const { sql, values } = renderFilter(filter, db.dialect);
    const rows = await db.all<{ id: string }>(`select c.id from ${FROM} where c.team_id = ? and ${sql} order by c.id`, [
      team.id,
      ...values,
    ]);
    expect(
      rows.map(({ id }) => id),
      JSON.stringify(input),
    ).toEqual(expected.sort());
    const page = await audiencePage(db, team.id, { filter }, { limit: CONTACTS });
    expect(
      page.map(({ id }) => id),
      JSON.stringify(input),
    ).toEqual(expected.toReversed());
    expect((await countAudience(db, team.id, filter)).contacts).toBe(expected.length);
    counted.push({ filter, size: expected.length });
    matched += expected.length;
  }
  const sums = await countAudiences(
    db,
    team.id,
    counted.map(({ filter }) => filter),
  );
  expect(sums.map(({ contacts: sum }) => sum)).toEqual(counted.map(({ size }) => size));
  // The filters match neither everybody nor nobody, so that they distinguish contacts.
  expect(matched).toBeGreaterThan(FILTERS * CONTACTS * 0.1);
  expect(matched).toBeLessThan(FILTERS * CONTACTS * 0.9);
});
