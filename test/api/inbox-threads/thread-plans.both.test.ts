import { afterAll, beforeAll, expect, it } from 'vitest';
import { driver } from '../../rig/database.ts';
import { createInbox, plantThreads, type Inbox } from '../../rig/inboxes.ts';
import { startScene, type Scene } from '../../rig/scene.ts';

const THREADS = 20_000;
let scene: Scene;
let inbox: Inbox;
let label = '';
let middle = '';
let asked: { sql: string; values: readonly unknown[] }[] = [];
/**
 * The database's plan decides the cost of a page: a step into an index in the order of the page, for each folder and
 * label. A sort or a scan of all threads would cost more with every thread.
 */
beforeAll(async () => {
  scene = await startScene({ roles: ['http'] });
  const team = await scene.team();
  inbox = await createInbox(scene, team);
  const mails = Array.from({ length: THREADS }, (_, n) => ({
    subject: `Thread ${n}`,
    from: `p${n % 100}@example.org`,
    folder: n % 4 === 0 ? ('archive' as const) : ('inbox' as const),
  }));
  const ids = await plantThreads(scene, inbox, team, mails);
  middle = ids[THREADS / 2] ?? '';
  label = (await inbox.call('POST', '/labels', { name: 'A' })).body.id as string;
  for (const id of ids.slice(0, 30)) await inbox.call('PUT', `/threads/${id}/labels`, { labels: [label] });
  const { db } = scene.app.world;
  const analyze = ['inbox_threads', 'inbox_emails', 'inbox_thread_labels'].map((table) => `vacuum analyze ${table}`);
  for (const sql of driver === 'pg' ? analyze : ['analyze']) await db.withKnex((knex) => knex.raw(sql));
  const all = db.all.bind(db);
  db.all = ((sql: string, values: readonly unknown[] = []) => {
    asked.push({ sql, values });
    return all(sql, values as never);
  }) as typeof db.all;
});
afterAll(() => scene.close());

async function explainQuery(query: string, table: string): Promise<string> {
  asked = [];
  const path = `/threads${query.replace('LABEL', label).replace('MIDDLE', middle)}`;
  expect((await inbox.call('GET', path)).status).toBe(200);
  const read = asked.find(({ sql }) => sql.includes(`from ${table}`));
  if (!read) throw new Error(`no statement read ${table}`);
  const explain = driver === 'pg' ? 'explain (analyze, costs off, timing off, summary off)' : 'explain query plan';
  const rows = await scene.app.world.db.all<Record<string, string>>(`${explain} ${read.sql}`, read.values as never);
  return rows.map((row) => row['QUERY PLAN'] ?? row['detail'] ?? '').join('\n');
}

/** Returns the most rows of a step of the plan. */
const mostRows = (plan: string): number =>
  Math.max(0, ...[...plan.matchAll(/actual rows=(\d+)/g)].map((match) => Number(match[1])));

it.each([
  ['', 4],
  ['?after=MIDDLE', 4],
  ['?before=MIDDLE', 4],
  ['?folders=inbox&read=false', 1],
  ['?folders=inbox,archive&read=true', 2],
  ['?snoozed=true', 1],
])('a page of threads %j is read by an index', async (query, parts) => {
  const plan = await explainQuery(query, 'inbox_threads');
  if (driver === 'pg') {
    expect(plan).not.toContain('Seq Scan on inbox_threads');
    expect(mostRows(plan)).toBeLessThanOrEqual(21 * parts);
  } else {
    const steps = plan.split('\n').filter((line) => /SEARCH inbox_threads USING .*INDEX inbox_threads_by_/.test(line));
    expect([steps.length, plan]).toEqual([parts, expect.not.stringMatching(/SCAN (?:inbox_threads|t)\b/)]);
    for (const step of steps) expect(step).toMatch(/folder=\?/);
  }
});

it('a page of threads with a label is read by an index', async () => {
  const plan = await explainQuery('?labels=LABEL', 'inbox_thread_labels');
  if (driver === 'pg') expect(mostRows(plan)).toBeLessThanOrEqual(63);
  else
    expect(plan).toMatch(
      /SEARCH inbox_thread_labels USING .*INDEX inbox_thread_labels_by_folder \(label_id=\? AND folder=\?\)/,
    );
});

it.each(['/search?query=Thread+2999', '/search?query=Thread&folders=archive', '/search?from=p7@&after=MIDDLE'])(
  'a search %j reads one block of the inbox at a time',
  async (query) => {
    const plan = await explainQuery(query, 'inbox_emails e join');
    if (driver === 'pg') expect(mostRows(plan)).toBeLessThanOrEqual(1000);
    else {
      expect(plan).toMatch(/SEARCH e USING INDEX sqlite_autoindex_inbox_emails_1 \(inbox_id=\? AND email_id>/);
      expect(plan).not.toContain('SCAN');
    }
  },
);
