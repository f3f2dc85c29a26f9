import { afterAll, beforeAll, expect, it } from 'vitest';
import { driver } from '../../rig/database.ts';
import { scaled } from '../../rig/scale.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

const FEW = 1000;
const MANY = scaled(5000);
/** Number of emails in a block. */
const A_BLOCK = 256;

let scene: Scene;
beforeAll(async () => {
  scene = await startScene({ roles: ['http'] });
});
afterAll(() => scene.close());

/** Writes the emails `from` to `to` of a team in the database; each has a number of its own, and all share some words. */
async function plant(team: Team, mark: string, from: number, to: number): Promise<void> {
  const { db } = scene.app.world;
  const [hex, cast] = driver === 'pg' ? [`lpad(to_hex(n), 12, '0')`, '::uuid'] : [`printf('%012x', n)`, ''];
  const id = `('019a0000-0000-7000-8${mark}-' || ${hex})${cast}`;
  const words = `'order ' || n || ' of ${mark}' || (case when n % 7 = 0 then ' and äpfel' else '' end)`;
  await db.run(
    `insert into emails (id, team_id, domain_id, sender, to_list, subject, message_id, attachment_count, last_event,
        created_at, search_text)
      with recursive numbers(n) as (select ${from} union all select n + 1 from numbers where n < ${to})
      select ${id}, ?${cast}, ?${cast}, 'a@example.com', '["x@example.org"]', ${words}, '<' || ${id} || '@example.com>', 0,
        case when n % 5 = 0 then 'bounced' else 'delivered' end, 0,
        ${words} || ${driver === 'pg' ? `E'\\n'` : `char(10)`} || 'a@example.com' from numbers`,
    [team.id, team.id],
  );
  await db.run(
    `insert into email_bodies (email_id, html_in_blob, text_in_blob) select id, 0, 0 from emails
      where team_id = ? and not exists (select 1 from email_bodies b where b.email_id = emails.id)`,
    [team.id],
  );
  // A server does this by itself: without statistics it sorts all rows for each block.
  if (driver === 'pg') await db.run('analyze emails, email_bodies');
}

const toIds = (body: { data: { subject: string }[] }): number[] =>
  body.data.map(({ subject }) => Number(/\d+/.exec(subject)?.[0]));

async function indexAll(): Promise<void> {
  const job = scene.app.jobs.find(({ name }) => name === 'index-emails');
  const { db } = scene.app.world;
  const blocks = async () => Number((await db.get<{ n: number }>('select count(*) as n from email_search_blocks'))?.n);
  for (let before = -1; before !== (await blocks());) {
    before = await blocks();
    await job?.run();
  }
}

const find = async (team: Team, query: Record<string, string>) => {
  const { status, body } = await scene.api('GET', `/emails?${new URLSearchParams({ limit: '100', ...query })}`, {
    key: team.key,
  });
  expect(status).toBe(200);
  return { found: toIds(body), hasMore: body.has_more as boolean };
};

it('a search finds the same emails as a full scan, in either direction and with other filters', async () => {
  const team = await scene.team();
  const stranger = await scene.team();
  await plant(stranger, 'aaa', 0, 1500);
  await plant(team, 'bbb', 0, 2600);
  await indexAll();
  // These are in no block yet.
  await plant(team, 'bbb', 2601, 2900);
  const numbers = Array.from({ length: 2901 }, (_, n) => n);
  const formatText = (n: number): string => `order ${n} of bbb${n % 7 === 0 ? ' and äpfel' : ''}\na@example.com`;
  for (const search of [
    'order 12',
    '9',
    '77',
    '277',
    'ÄPFEL',
    'r 2800',
    'of bbb',
    'of aaa',
    'zq',
    'z',
    'le.com',
    '1 of b',
    'nd ä',
  ]) {
    for (const status of [undefined, 'bounced']) {
      const expected = numbers
        .filter((n) => formatText(n).includes(search.toLowerCase()) && (status === undefined || n % 5 === 0))
        .reverse();
      const query = { search, ...(status === undefined ? {} : { status }) };
      const first = await find(team, query);
      expect([search, first.found, first.hasMore]).toEqual([search, expected.slice(0, 100), expected.length > 100]);
      if (expected.length <= 100) continue;
      const buildId = (n: number | undefined): string =>
        `019a0000-0000-7000-8bbb-${(n ?? 0).toString(16).padStart(12, '0')}`;
      const next = await find(team, { ...query, after: buildId(first.found.at(-1)) });
      expect([search, next.found]).toEqual([search, expected.slice(100, 200)]);
      const back = await find(team, { ...query, before: buildId(next.found[0]) });
      expect([search, back.found]).toEqual([search, expected.slice(0, 100)]);
    }
  }
});

it('a search reads as few rows of many emails as of a few, and skips most of them without a query', async () => {
  const small = await scene.team();
  const large = await scene.team();
  await plant(small, 'ccc', 0, FEW);
  await plant(large, 'ddd', 0, MANY);
  await indexAll();
  const { db } = scene.app.world;
  const all = db.all.bind(db);
  const measureCost = async (team: Team, search: string): Promise<number> => {
    let pieces = 0;
    db.all = ((sql: string, values: never) => {
      if (sql.startsWith('select * from emails where')) pieces++;
      return all(sql, values);
    }) as typeof db.all;
    try {
      await find(team, { search });
    } finally {
      db.all = all;
    }
    return pieces;
  };
  // These match nothing, something rare, something everywhere, and have fewer than three letters.
  for (const search of ['never said', 'order 471 ', 'example.com', 'zq', 'z', '€']) {
    const few = await measureCost(small, search);
    const many = await measureCost(large, search);
    expect([search, many]).toEqual([search, expect.toSatisfy((n: number) => n <= 3 * few)]);
    expect(many).toBeLessThanOrEqual(4);
  }
});

// This runs before there are emails of other tests that would be put into blocks first.
it('search blocks are deleted with their emails', async () => {
  const { db } = scene.app.world;
  const team = await scene.team();
  await plant(team, 'abc', 0, 2 * A_BLOCK + A_BLOCK + 10);
  await indexAll();
  const loadCount = async (): Promise<number> =>
    Number(
      (await db.get<{ n: number }>('select count(*) as n from email_search_blocks where team_id = ?', [team.id]))?.n,
    );
  expect(await loadCount()).toBe(3);
  await db.run(`delete from emails where team_id = ? and ${driver === 'pg' ? 'id::text' : 'id'} < ?`, [
    team.id,
    `019a0000-0000-7000-8abc-${(A_BLOCK + 5).toString(16).padStart(12, '0')}`,
  ]);
  await indexAll();
  expect(await loadCount()).toBe(2);
  await db.run('delete from emails where team_id = ?', [team.id]);
  await indexAll();
  expect(await loadCount()).toBe(0);
});

it('a search that scans too many emails without a match is refused with advice', async () => {
  const team = await scene.team();
  await plant(team, 'eee', 0, 101_000);
  const answer = await scene.api('GET', '/emails?search=never+said', { key: team.key });
  expect(answer).toMatchObject({ status: 422, body: { name: 'invalid_parameter' } });
  expect(answer.body.message).toContain('start_date');
  // The matches in that many emails are a page, which says that there is more.
  const { found, hasMore } = await find(team, { search: 'order 100999 ' });
  expect([found, hasMore]).toEqual([[100_999], true]);
});

it('other calls are answered while ten searches scan emails that are not indexed yet', async () => {
  const team = await scene.team();
  await plant(team, 'fff', 0, 60_000);
  const done: string[] = [];
  const searches = Array.from({ length: 10 }, async () => {
    await scene.api('GET', '/emails?search=never+said', { key: team.key });
    done.push('search');
  });
  await scene.api('GET', '/health');
  done.push('health');
  await Promise.all(searches);
  expect(done.indexOf('health')).toBeLessThan(2);
});
