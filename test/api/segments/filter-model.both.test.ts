import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { audiencePage, countAudience } from '../../../src/features/audience/contacts/audience.store.ts';
import { filteredContact } from '../../../src/features/audience/contacts/find-contact.ts';
import { findContact } from '../../../src/features/audience/contacts/contacts.store.ts';
import { createContact } from '../../../src/features/audience/contacts/change-contact.ts';
import { declaredFor } from '../../../src/features/audience/segments/segments.ts';
import {
  meetsFilter,
  parseFilter,
  renderFilter,
  type Declared,
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
  declared = await declaredFor(scene.app.world.db, team.id);
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
  for (const [i, more] of fc.sample(fields, { numRuns: CONTACTS, seed: 7 }).entries()) {
    scene.clock.advance(i % 3 === 0 ? 0 : 60_000);
    const email = i % 2 === 0 ? `ana.${i}@example.org` : `BOB+${i}@Bücher.example`;
    const { id } = await createContact(ctx, { email, ...more });
    const row = await findContact(world.db, team.id, { id });
    if (!row) throw new Error('a contact that was created is there');
    contacts.set(id, await filteredContact(world.db, row));
    times.push(row.created_at);
  }
});
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
    const expected = [...contacts].filter(([, contact]) => {
      const isMember = (leaf: object): boolean | undefined =>
        'field' in leaf && gone.has(leaf.field as string)
          ? undefined
          : meetsFilter(parseFilter(leaf, left).filter, contact);
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
    const rows = await db.all<{ id: string }>(
      `select c.id from contacts c where c.team_id = ? and ${sql} order by c.id`,
      [team.id, ...values],
    );
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
  for (const input of fc.sample(filters(), { numRuns: FILTERS, seed: 11 })) {
    const { filter, faults } = parseFilter(input, declared);
    expect(faults, JSON.stringify(input)).toEqual([]);
    const expected = [...contacts].filter(([, contact]) => meetsFilter(filter, contact)).map(([id]) => id);
    const { sql, values } = renderFilter(filter, db.dialect);
    const rows = await db.all<{ id: string }>(
      `select c.id from contacts c where c.team_id = ? and ${sql} order by c.id`,
      [team.id, ...values],
    );
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
    matched += expected.length;
  }
  // The filters match neither everybody nor nobody, so that they distinguish contacts.
  expect(matched).toBeGreaterThan(FILTERS * CONTACTS * 0.1);
  expect(matched).toBeLessThan(FILTERS * CONTACTS * 0.9);
});
