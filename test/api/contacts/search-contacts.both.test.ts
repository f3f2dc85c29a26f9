import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { insertContacts } from '../../../src/features/audience/contacts/contacts.store.ts';
import { newContact } from '../../../src/features/audience/contacts/write-contact.ts';
import { addMembers } from '../../../src/features/audience/segments/segments.store.ts';
import { driver } from '../../rig/database.ts';
import { explainQueries, rowsRead } from '../../rig/plans.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

let scene: Scene;
beforeAll(async () => {
  scene = await startScene({ roles: ['http'] });
});
afterAll(() => scene.close());

const PATHS = ['/contacts', '/contacts?segment_id=SEGMENT', '/segments/SEGMENT/contacts'];

interface Person {
  email: string;
  first_name?: string;
  last_name?: string;
}

/** Writes contacts as an import does, oldest first, and all of them members of one segment. */
async function fill(team: Team, people: readonly Person[]): Promise<string> {
  const { world } = scene.app;
  const { id: segment } = (await scene.api('POST', '/segments', { key: team.key, body: { name: 'Everybody' } }))
    .body as { id: string };
  const rows = people.map((person) =>
    newContact(world, team.id, { first_name: null, last_name: null, unsubscribed: false, values: {}, ...person }),
  );
  await world.db.tx(async (tx) => {
    await insertContacts(tx, rows);
    await addMembers(
      tx,
      rows.map(({ id }) => ({ segment_id: segment, contact_id: id })),
    );
  });
  return segment;
}

async function fetchPage(team: Team, path: string, query: Record<string, string>) {
  const more = new URLSearchParams(query).toString();
  const answer = await scene.api('GET', `${path}${path.includes('?') ? '&' : '?'}${more}`, { key: team.key });
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  return (answer.body as { data: { id: string; email: string }[] }).data;
}

describe.each(PATHS)('search in GET %s', (template) => {
  let team: Team;
  let path: string;
  beforeAll(async () => {
    team = await scene.team();
    const segment = await fill(team, [
      { email: 'Ada@example.org', first_name: 'Ada', last_name: 'Lovelace' },
      { email: 'adam@example.org' },
      { email: 'a_b%c@example.org', first_name: '100%' },
      { email: 'axbyc@example.org', first_name: '100x' },
      { email: 'émile@example.org', first_name: 'Émile', last_name: 'Zola' },
      { email: 'eva@bücher.example', first_name: 'back\\slash' },
      { email: 'other@example.org', first_name: 'Zoë', last_name: "O'Hara" },
      { email: 'last@example.org', first_name: '\u{10ffff}x' },
    ]);
    path = template.replace('SEGMENT', segment);
  });

  it.each([
    ['ada', ['adam@', 'Ada@']],
    ['ADA@EXAMPLE', ['Ada@']],
    ['ada@example.org', ['Ada@']],
    ['love', ['Ada@']],
    ['example.org', []],
    ['a_', ['a_b%c@']],
    ['a%', []],
    ['%', []],
    ['_', []],
    ['\\', []],
    ['back\\', ['eva@']],
    ['100%', ['a_b%c@']],
    ['É', ['émile@']],
    ['e\u0301mile@', ['émile@']],
    ['zo', ['other@', 'émile@']],
    ["o'h", ['other@']],
    ['eva@bücher', ['eva@']],
    ['EVA@BÜCHER.example', ['eva@']],
    ['eva@xn--', ['eva@']],
    ['\u{10ffff}', ['last@']],
  ])('finds the right contacts for %j', async (search, starts) => {
    const found = (await fetchPage(team, path, { search })).map(({ email }) => email.slice(0, email.indexOf('@') + 1));
    expect(found).toEqual(starts);
  });

  it('takes 1 to 200 characters, of which one is not a space', async () => {
    expect(await fetchPage(team, path, { search: '😀'.repeat(200) })).toEqual([]);
    for (const search of ['', ' ', 'x'.repeat(201)]) {
      const at = `${path}${path.includes('?') ? '&' : '?'}search=${encodeURIComponent(search)}`;
      const { status, body } = await scene.api('GET', at, { key: team.key });
      expect([status, body]).toEqual([
        422,
        expect.objectContaining({
          name: 'invalid_parameter',
          message: expect.stringMatching(/^search must be 1 to 200 characters long and not blank; got /),
        }),
      ]);
    }
  });

  it('finds nobody of another team', async () => {
    const other = await scene.team();
    const theirs = path.replace(/[0-9a-f-]{36}/, await fill(other, [{ email: 'theirs@example.org' }]));
    expect(await fetchPage(other, theirs, { search: 'ada' })).toEqual([]);
  });
});

const FILLED = 12_000;
const FEW = 130;

/** Every other contact matches "many"; the few are the oldest. */
const address = (n: number): string => `${n < FEW ? 'few' : n % 2 === 0 ? 'many' : 'else'}-${n}@example.org`;

describe('search among many contacts', () => {
  let team: Team;
  let segment: string;
  beforeAll(async () => {
    team = await scene.team();
    segment = await fill(
      team,
      Array.from({ length: FILLED }, (_, n) => ({ email: address(n) })),
    );
    const { db } = scene.app.world;
    await db.withKnex((knex) => knex.raw(db.dialect === 'pg' ? 'vacuum analyze contacts' : 'analyze'));
  });

  it.each(PATHS.flatMap((path) => ['few', 'many'].map((search) => [path, search] as const)))(
    'pages %s in both directions: %s',
    async (template, search) => {
      const path = template.replace('SEGMENT', segment);
      const all = Array.from({ length: FILLED }, (_, n) => address(FILLED - 1 - n)).filter((email) =>
        email.startsWith(search),
      );
      const emails = (rows: { email: string }[]) => rows.map(({ email }) => email);
      const first = await fetchPage(team, path, { search, limit: '100' });
      expect(emails(first)).toEqual(all.slice(0, 100));
      const next = await fetchPage(team, path, { search, limit: '20', after: first.at(-1)?.id ?? '' });
      expect(emails(next)).toEqual(all.slice(100, 120));
      const back = await fetchPage(team, path, { search, limit: '7', before: next[0]?.id ?? '' });
      expect(emails(back)).toEqual(all.slice(93, 100));
    },
  );

  it.each(PATHS)('reads only the contacts it finds, by indexes, in %s', async (template) => {
    const plans = await explainQueries(
      scene.app.world.db,
      () => fetchPage(team, template.replace('SEGMENT', segment), { search: 'few' }),
      ' contacts c',
      'email_key',
    );
    expect(plans.length).toBeGreaterThanOrEqual(2);
    for (const plan of plans) {
      expect(plan).not.toMatch(/Seq Scan on contacts|SCAN c\b|\(team_id=\?\)/);
      for (const name of ['email', 'first_name', 'last_name']) {
        expect(plan).toContain(name === 'email' && driver !== 'pg' ? 'contacts_email' : `contacts_${name}_start`);
      }
      expect(rowsRead(plan)).toBeLessThanOrEqual(FEW);
    }
  });
});
