import type { Executor, Value } from '../../../platform/db/index.ts';
import { uuidsIn } from '../../../platform/db/index.ts';
import type { StoredFolder } from './rows.ts';

/** Neighboring emails of one inbox, from the first id to the last. */
export interface InboxBlock {
  id: number;
  first_id: string;
  last_id: string;
}

/** Returns the last email in a block; newer ones have to be searched directly. */
export async function inboxIndexedTo(db: Executor, inboxId: string): Promise<string | undefined> {
  const sql = 'select last_id from inbox_search_blocks where inbox_id = ? order by last_id desc limit 1';
  return (await db.get<{ last_id: string }>(sql, [inboxId]))?.last_id;
}

export async function insertInboxBlock(
  tx: Executor,
  inboxId: string,
  { first_id, last_id }: Omit<InboxBlock, 'id'>,
  grams: ReadonlySet<number>,
): Promise<void> {
  if (tx.dialect === 'pg') {
    const sql = 'insert into inbox_search_blocks (inbox_id, first_id, last_id, grams) values (?, ?, ?, ?::integer[])';
    await tx.run(sql, [inboxId, first_id, last_id, `{${[...grams].join(',')}}`]);
    return;
  }
  const sql = 'insert into inbox_search_blocks (inbox_id, first_id, last_id) values (?, ?, ?) returning id';
  const row = await tx.get<{ id: number }>(sql, [inboxId, first_id, last_id]);
  if (!row) throw new Error('search block id missing after insert');
  await tx.run('insert into inbox_search_grams (rowid, grams) values (?, ?)', [row.id, formatGrams([...grams])]);
}

export interface InboxBlockSearch {
  inboxId: string;
  /** Grams that the block must contain. */
  grams: readonly number[];
  order: 'desc' | 'asc';
  /** Exclusive edges of the requested range. */
  above: string | undefined;
  below: string | undefined;
  /** Last block of the previous result. */
  seen: number | undefined;
  limit: number;
}

/** Returns blocks that may contain a match, in the order of their emails. Blocks of an inbox are made oldest first. */
export function listInboxBlocksToSearch(db: Executor, search: InboxBlockSearch): Promise<InboxBlock[]> {
  const { inboxId, grams, order, above, below, seen, limit } = search;
  const isPg = db.dialect === 'pg';
  const where = ['b.inbox_id = ?'];
  const values: Value[] = [inboxId];
  const narrow = (condition: string, value: Value | undefined): void => {
    if (value === undefined) return;
    where.push(condition);
    values.push(value);
  };
  if (isPg) narrow('b.grams @> ?::integer[]', `{${grams.join(',')}}`);
  else narrow('g.inbox_search_grams match ?', formatGrams(grams));
  narrow('b.last_id > ?', above);
  narrow('b.first_id < ?', below);
  narrow(`${isPg ? 'b.id' : 'g.rowid'} ${order === 'desc' ? '<' : '>'} ?`, seen);
  const from = isPg
    ? 'inbox_search_blocks b'
    : 'inbox_search_grams g cross join inbox_search_blocks b on b.id = g.rowid';
  const found = `select b.id, b.first_id, b.last_id from ${from} where ${where.join(' and ')}`;
  // Searches only the index first: in the order of ids, PostgreSQL would unpack the content of each block.
  const sql = isPg
    ? `with found as materialized (${found}) select * from found order by id ${order} limit ?`
    : `${found} order by g.rowid ${order} limit ?`;
  return db.all<InboxBlock>(sql, [...values, limit]);
}

/** Removes up to `limit` blocks whose emails are all gone; returns how many. */
export async function removeInboxBlocksBefore(
  tx: Executor,
  inboxId: string,
  oldestId: string | undefined,
  limit: number,
): Promise<number> {
  const before = oldestId === undefined ? '' : 'and last_id < ?';
  const gone = await tx.all<{ id: number }>(
    `delete from inbox_search_blocks where id in
      (select id from inbox_search_blocks where inbox_id = ? ${before} order by last_id limit ?) returning id`,
    [inboxId, ...(oldestId === undefined ? [] : [oldestId]), limit],
  );
  if (tx.dialect === 'sqlite' && gone.length > 0) {
    await tx.runEach(
      'delete from inbox_search_grams where rowid = ?',
      gone.map(({ id }) => [id]),
    );
  }
  return gone.length;
}

/** Formats grams as words for the full-text index, which supports only letters and digits. */
const formatGrams = (grams: readonly number[]): string => grams.map((gram) => `g${gram.toString(36)}`).join(' ');

/** Returns all inboxes, including deleted ones until their rows are gone. */
export async function allInboxIds(db: Executor): Promise<string[]> {
  return (await db.all<{ id: string }>('select id from inboxes order by id')).map((row) => row.id);
}

const TEXTS = ['from_text', 'to_text', 'cc_text', 'bcc_text', 'body_text'] as const;
type Texts = Record<(typeof TEXTS)[number], string>;

export const inboxTextsAfter = (
  db: Executor,
  inboxId: string,
  above: string | undefined,
  limit: number,
): Promise<(Texts & { email_id: string })[]> =>
  db.all(
    `select email_id, ${TEXTS.join(', ')} from inbox_emails where inbox_id = ? ${above === undefined ? '' : 'and email_id > ?'}
      order by email_id limit ?`,
    [inboxId, ...(above === undefined ? [] : [above]), limit],
  );

/** Returns every text of an email. */
export const splitTexts = (row: Texts): string[] => TEXTS.flatMap((name) => row[name].split('\n'));

interface Edges {
  from?: string | undefined;
  to?: string | undefined;
  above?: string | undefined;
  below?: string | undefined;
}

const SIGNS = { from: '>=', to: '<=', above: '>', below: '<' } as const;

function buildEdges(range: Edges): { sql: string; values: string[] } {
  const edges = Object.entries(SIGNS).flatMap(([name, sign]) => {
    const id = range[name as keyof Edges];
    return id === undefined ? [] : [{ sql: ` and e.email_id ${sign} ?`, id }];
  });
  return { sql: edges.map(({ sql }) => sql).join(''), values: edges.map(({ id }) => id) };
}

/** Returns the id after `skip` others of the range; undefined if there are no more. */
export async function inboxEmailAfter(
  db: Executor,
  inboxId: string,
  { order, skip, ...range }: Edges & { order: 'desc' | 'asc'; skip: number },
): Promise<string | undefined> {
  const edges = buildEdges(range);
  const sql = `select e.email_id from inbox_emails e where e.inbox_id = ?${edges.sql} order by e.email_id ${order} limit 1 offset ?`;
  return (await db.get<{ email_id: string }>(sql, [inboxId, ...edges.values, skip]))?.email_id;
}

/** Conditions that an email must meet, with texts normalized for comparison; one entry of each list has to match. */
export interface EmailMatch {
  query: string | undefined;
  from: readonly string[] | undefined;
  to: readonly string[] | undefined;
  cc: readonly string[] | undefined;
  bcc: readonly string[] | undefined;
  hasAttachment: boolean | undefined;
  /** Bounds of ids. */
  sinceId: string | undefined;
  untilId: string | undefined;
}

export interface ThreadMatch {
  folders: readonly StoredFolder[];
  read: boolean | undefined;
  labels: readonly string[] | undefined;
}

interface Condition {
  sql: string;
  values: Value[];
}

/** Returns the newest matching email of each thread within the range. */
export async function matchesBetween(
  db: Executor,
  inboxId: string,
  { email, thread }: { email: EmailMatch; thread: ThreadMatch },
  { order, limit, ...range }: Edges & { order: 'desc' | 'asc'; limit: number },
): Promise<{ email_id: string; thread_id: string }[]> {
  const edges = buildEdges(range);
  const fits = buildMatchCondition(db, 'e', email);
  const newer = buildMatchCondition(db, 'n', email);
  const of = threadFit(db, thread);
  return db.all(
    `select e.email_id, e.thread_id from inbox_emails e join inbox_threads t on t.id = e.thread_id
      where e.inbox_id = ?${edges.sql} and ${fits.sql} and ${of.sql}
        and not exists (select 1 from inbox_emails n where n.thread_id = e.thread_id and n.email_id > e.email_id
          and ${newer.sql})
      order by e.email_id ${order} limit ?`,
    [inboxId, ...edges.values, ...fits.values, ...of.values, ...newer.values, limit],
  );
}

/** Returns the newest matching email of a thread. */
export async function newestMatch(db: Executor, threadId: string, email: EmailMatch): Promise<string | undefined> {
  const fits = buildMatchCondition(db, 'e', email);
  const sql = `select e.email_id from inbox_emails e where e.thread_id = ? and ${fits.sql} order by e.email_id desc limit 1`;
  return (await db.get<{ email_id: string }>(sql, [threadId, ...fits.values]))?.email_id;
}

function buildMatchCondition(db: Executor, alias: string, match: EmailMatch): Condition {
  const position = db.dialect === 'pg' ? 'strpos' : 'instr';
  const parts: Condition[] = [{ sql: '1 = 1', values: [] }];
  const holds = (columns: readonly string[], texts: readonly string[]): void => {
    const each = columns.flatMap((column) => texts.map(() => `${position}(${alias}.${column}, ?) > 0`));
    parts.push({ sql: `(${each.join(' or ')})`, values: columns.flatMap(() => [...texts]) });
  };
  if (match.query !== undefined) holds(TEXTS, [match.query]);
  for (const field of ['from', 'to', 'cc', 'bcc'] as const) {
    const wanted = match[field];
    if (wanted !== undefined) holds([`${field}_text`], wanted);
  }
  if (match.hasAttachment !== undefined) {
    parts.push({ sql: `${alias}.has_attachment = ?`, values: [match.hasAttachment ? 1 : 0] });
  }
  if (match.sinceId !== undefined) parts.push({ sql: `${alias}.email_id >= ?`, values: [match.sinceId] });
  if (match.untilId !== undefined) parts.push({ sql: `${alias}.email_id < ?`, values: [match.untilId] });
  return { sql: parts.map(({ sql }) => sql).join(' and '), values: parts.flatMap(({ values }) => values) };
}

function threadFit(db: Executor, { folders, read, labels }: ThreadMatch): Condition {
  const parts: Condition[] = [{ sql: `t.folder in (${folders.map(() => '?').join(', ')})`, values: [...folders] }];
  if (read !== undefined) parts.push({ sql: 't.is_read = ?', values: [read ? 1 : 0] });
  if (labels !== undefined) {
    const among = uuidsIn(db.dialect, 'l.label_id', labels);
    const sql = `exists (select 1 from inbox_thread_labels l where l.thread_id = t.id and ${among.sql})`;
    parts.push({ sql, values: [among.value] });
  }
  return { sql: parts.map(({ sql }) => sql).join(' and '), values: parts.flatMap(({ values }) => values) };
}
