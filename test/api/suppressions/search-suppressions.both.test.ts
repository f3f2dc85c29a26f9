import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { insertSuppressions } from '../../../src/mail/suppressions/suppressions.store.ts';
import { normalizeAddress } from '../../../src/protocol/address/index.ts';
import { driver } from '../../rig/database.ts';
import { explainQueries, rowsRead } from '../../rig/plans.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

let scene: Scene;
beforeAll(async () => {
  scene = await startScene({ roles: ['http'] });
});
afterAll(() => scene.close());

/** Writes entries, oldest first; those of a bounce begin with `b-`. */
async function fill(team: Team, emails: readonly string[]): Promise<void> {
  const { db, ids } = scene.app.world;
  const rows = emails.map((email) => ({
    id: `sup_${ids.uuid().replaceAll('-', '')}`,
    team_id: team.id,
    email,
    email_key: normalizeAddress(email),
    origin: email.startsWith('b-') ? ('bounce' as const) : ('manual' as const),
    source_id: null,
    created_at: 0,
  }));
  await db.tx((tx) => insertSuppressions(tx, rows));
}

async function fetchPage(team: Team, query: Record<string, string>) {
  const { status, body } = await scene.api('GET', `/suppressions?${new URLSearchParams(query)}`, { key: team.key });
  expect(status, JSON.stringify(body)).toBe(200);
  return body as { has_more: boolean; data: { id: string; email: string }[] };
}
const listEmails = ({ data }: { data: { email: string }[] }): string[] => data.map(({ email }) => email);

describe('search of GET /suppressions', () => {
  let team: Team;
  beforeAll(async () => {
    team = await scene.team();
    await fill(team, [
      'Ada@example.org',
      'adam@example.org',
      'a_b%c@example.org',
      'axbyc@example.org',
      'b-a@example.org',
    ]);
    await fill(team, ['émile@example.org', 'eva@bücher.example', 'b-one@example.org', '"b q"@example.org']);
  });

  it.each([
    ['ada', ['adam@example.org', 'Ada@example.org']],
    ['ADA@EXAMPLE', ['Ada@example.org']],
    ['ada@example.org', ['Ada@example.org']],
    ['example.org', []],
    ['a_', ['a_b%c@example.org']],
    ['a%', []],
    ['%', []],
    ['É', ['émile@example.org']],
    ['e\u0301mile@', ['émile@example.org']],
    ['EVA@BÜCHER.example', ['eva@bücher.example']],
    ['eva@xn--', ['eva@bücher.example']],
    ['"b', ['"b q"@example.org']],
    ["' or 1=1 --", []],
    ['\u{10ffff}', []],
  ])('finds the right addresses for %j', async (search, found) => {
    expect(listEmails(await fetchPage(team, { search }))).toEqual(found);
  });

  it('can be combined with origin', async () => {
    expect(listEmails(await fetchPage(team, { search: 'b-', origin: 'bounce' }))).toEqual([
      'b-one@example.org',
      'b-a@example.org',
    ]);
    expect(listEmails(await fetchPage(team, { search: 'b-', origin: 'manual' }))).toEqual([]);
  });

  it('takes 1 to 200 characters, of which one is not a space', async () => {
    expect(listEmails(await fetchPage(team, { search: '😀'.repeat(200) }))).toEqual([]);
    for (const search of ['', ' ', 'x'.repeat(201)]) {
      const at = `/suppressions?search=${encodeURIComponent(search)}`;
      expect(await scene.api('GET', at, { key: team.key })).toMatchObject({
        status: 422,
        body: {
          name: 'invalid_parameter',
          message: expect.stringMatching(/^search must be 1 to 200 characters long and not blank; got /),
        },
      });
    }
  });

  it('finds nothing of another team', async () => {
    expect(listEmails(await fetchPage(await scene.team(), { search: 'ada' }))).toEqual([]);
  });
});

const FILLED = 14_000;
const FEW = 130;
const address = (n: number): string => `${n < FEW ? 'few' : n % 2 === 0 ? 'many' : 'b-else'}-${n}@example.org`;

describe('search among many suppressions', () => {
  let team: Team;
  beforeAll(async () => {
    team = await scene.team();
    await fill(
      team,
      Array.from({ length: FILLED }, (_, n) => address(n)),
    );
    const { db } = scene.app.world;
    await db.withKnex((knex) => knex.raw(driver === 'pg' ? 'vacuum analyze suppressions' : 'analyze'));
  });

  it.each<Record<string, string> & { search: string }>([
    { search: 'few' },
    { search: 'many' },
    { search: 'b-else', origin: 'bounce' },
  ])('pages in both directions: %j', async (query) => {
    const all = Array.from({ length: FILLED }, (_, n) => address(FILLED - 1 - n)).filter((email) =>
      email.startsWith(query.search),
    );
    const first = await fetchPage(team, { ...query, limit: '100' });
    expect([first.has_more, listEmails(first)]).toEqual([true, all.slice(0, 100)]);
    const next = await fetchPage(team, { ...query, limit: '30', after: first.data.at(-1)?.id ?? '' });
    expect([next.has_more, listEmails(next)]).toEqual([all.length > 130, all.slice(100, 130)]);
    const back = await fetchPage(team, { ...query, limit: '7', before: next.data[0]?.id ?? '' });
    expect([back.has_more, listEmails(back)]).toEqual([true, all.slice(93, 100)]);
  });

  it('finds many adjacent matches far from the start', async () => {
    const other = await scene.team();
    const emails = Array.from({ length: FILLED }, (_, n) => `${n < 6000 ? 'old' : 'new'}-${n}@example.org`);
    await fill(other, emails);
    const page = await fetchPage(other, { search: 'old', limit: '3' });
    expect([page.has_more, listEmails(page)]).toEqual([true, emails.slice(5997, 6000).reverse()]);
    const newest = await fetchPage(other, { limit: '1' });
    const oldest = await fetchPage(other, { search: 'new', limit: '2', before: page.data[0]?.id ?? '' });
    expect([oldest.has_more, listEmails(oldest)]).toEqual([true, emails.slice(6000, 6002).reverse()]);
    const none = await fetchPage(other, { search: 'old', before: newest.data[0]?.id ?? '' });
    expect(none).toMatchObject({ has_more: false, data: [] });
  });

  it('reads only the few that it finds, by an index', async () => {
    const plans = await explainQueries(
      scene.app.world.db,
      () => fetchPage(team, { search: 'few' }),
      ' suppressions ',
      'email_key',
    );
    expect(plans).toHaveLength(2);
    for (const plan of plans) {
      expect(plan).toContain(
        driver === 'pg' ? 'suppressions_email_start' : '(team_id=? AND email_key>? AND email_key<?)',
      );
      expect(plan).not.toMatch(/Seq Scan on suppressions|SCAN suppressions|\(team_id=\?\)/);
      expect(rowsRead(plan)).toBeLessThanOrEqual(FEW);
    }
  });
});
