import { textsIn, uuidsIn, type Executor, type Row, type TableShape, type Value } from '../../platform/db/index.ts';
import { ALSO_EXPORTED, BILLED_PATHS, TEAM_PATHS } from './team-tables.ts';

/** Rows that one statement searches, and whose addresses are read, in a millisecond: other work runs in between. */
const SEARCHED_AT_ONCE = 250;

interface Searched {
  /** Every column that is searched, as one text. */
  texts: string;
  /** A further condition, without parameters. */
  where?: string;
}

/** Renders columns as one text. */
const joinColumns = (...columns: readonly string[]): string =>
  columns.map((column) => `coalesce(${column}, '')`).join(" || ' ' || ");

const RECIPIENTS = ['sender', 'to_list', 'cc_list', 'bcc_list', 'reply_to_list'] as const;

/** Tables of teams that may have many rows, each with an index by team and id in the order of time. */
export const SEARCHED = {
  audit_log: { texts: joinColumns('details', 'subject_id', 'actor_name') },
  emails: { texts: joinColumns(...RECIPIENTS) },
  // The condition repeats that of the index.
  events: { texts: joinColumns('data'), where: "substr(type, 1, 6) <> 'email.'" },
  playground_messages: { texts: joinColumns('mail_from', 'recipients') },
  received_emails: { texts: joinColumns(...RECIPIENTS, 'mail_from', 'received_for', 'sender_key') },
  request_logs: { texts: joinColumns('endpoint', 'request_body', 'response_body') },
} as const satisfies Record<string, Searched>;

export type SearchedTable = keyof typeof SEARCHED;

/**
 * Searches the next rows of a team after an id for a text, or returns all of them for the empty text. `lastId` is where
 * the next search begins; undefined at the end.
 */
export async function searchRows(
  db: Executor,
  table: SearchedTable,
  { teamId, afterId, text }: { teamId: string; afterId: string; text: string },
): Promise<{ rows: Row[]; lastId: string | undefined }> {
  const { texts, where }: Searched = SEARCHED[table];
  const theirs = `team_id = ?${where === undefined ? '' : ` and ${where}`}`;
  const end = await db.get<{ id: string }>(
    `select id from ${table} where ${theirs} and id > ? order by id limit 1 offset ?`,
    [teamId, afterId, SEARCHED_AT_ONCE - 1],
  );
  const within = end === undefined ? '' : 'and id <= ?';
  const named = text === '' ? '' : `and ${position(db, texts)} > 0`;
  const rows = await db.all(`select * from ${table} where ${theirs} and id > ? ${within} ${named} order by id`, [
    teamId,
    afterId,
    ...(end === undefined ? [] : [end.id]),
    ...(text === '' ? [] : [text]),
  ]);
  return { rows, lastId: end?.id };
}

const position = ({ dialect }: Executor, texts: string): string =>
  `${dialect === 'pg' ? 'strpos' : 'instr'}(lower(${texts}), ?)`;

/** Searches a small table of a team for a text, or returns all its rows for the empty text. */
export function searchTeamTable(
  db: Executor,
  { name, columns }: TableShape,
  { teamId, text }: { teamId: string; text: string },
): Promise<Row[]> {
  const searched = joinColumns(...columns.filter(({ type }) => type === 'text').map((column) => `"${column.name}"`));
  const named = text === '' ? '' : ` and ${position(db, searched)} > 0`;
  return db.all(`select * from ${name} where ${isOfTeam(name)}${named}`, [teamId, ...(text === '' ? [] : [text])]);
}

/** Renders the condition that a row belongs to a team, with one parameter. */
function isOfTeam(table: string): string {
  const path = [...TEAM_PATHS, ...BILLED_PATHS, ...ALSO_EXPORTED].find((one) => one.table === table);
  if (!path) throw new Error(`it is not known how rows of ${table} belong to a team`);
  const { by, parent, from = 'id' } = path;
  return parent === undefined ? `${by} = ?` : `${by} in (select ${from} from ${parent} where ${isOfTeam(parent)})`;
}

/** Lists the clicked links in the reports of a team's broadcasts that have a text, or all of them for the empty text. */
export function searchLinks(
  db: Executor,
  { teamId, text }: { teamId: string; text: string },
): Promise<{ broadcast_id: string; url_hash: string; url: string }[]> {
  const named = text === '' ? '' : ` and ${position(db, 'url')} > 0`;
  const sql = `select broadcast_id, url_hash, url from broadcast_links
    where broadcast_id in (select id from broadcasts where team_id = ? and body_id is not null)${named}`;
  return db.all(sql, [teamId, ...(text === '' ? [] : [text])]);
}

interface RowKey {
  table: string;
  key: Row;
}

const buildCondition = (key: Row): { sql: string; values: Value[] } => ({
  sql: Object.keys(key)
    .map((name) => `${name} = ?`)
    .join(' and '),
  values: Object.values(key),
});

/** Changes the rows with these values. */
export function changeRows(tx: Executor, { table, key }: RowKey, change: Row): Promise<number> {
  const where = buildCondition(key);
  const sets = Object.keys(change)
    .map((name) => `${name} = ?`)
    .join(', ');
  return tx.run(`update ${table} set ${sets} where ${where.sql}`, [...Object.values(change), ...where.values]);
}

export function removeRows(tx: Executor, { table, key }: RowKey): Promise<number> {
  const where = buildCondition(key);
  return tx.run(`delete from ${table} where ${where.sql}`, where.values);
}

export function readRows<T = Row>(tx: Executor, { table, key }: RowKey): Promise<T[]> {
  const where = buildCondition(key);
  return tx.all<T>(`select * from ${table} where ${where.sql}`, where.values);
}

/** Removes the address from the participants of a team's threads; returns how many rows there were. */
export const eraseParticipant = (
  tx: Executor,
  { teamId, emailKey }: { teamId: string; emailKey: string },
): Promise<number> =>
  tx.run(
    `delete from ${PARTICIPANTS} where address_key = ? and inbox_id in (select id from inboxes where team_id = ?)`,
    [emailKey, teamId],
  );

const PARTICIPANTS = 'inbox_participants';

interface DraftLists extends Row {
  id: string;
  to_list: string | null;
  cc_list: string;
  bcc_list: string;
  /** Sender of the email that it replies to, who gets it if it names no recipient. */
  replies_to: string | null;
}

const DRAFTS = `select d.id, d.to_list, d.cc_list, d.bcc_list,
  (select sender from received_emails where id = d.reply_to_email_id) as replies_to from inbox_drafts d`;

export const unsentDrafts = (tx: Executor, teamId: string): Promise<DraftLists[]> =>
  tx.all<DraftLists>(`${DRAFTS} where d.team_id = ? and d.email_id is null order by d.id`, [teamId]);

/** Reads a draft and locks it until the end of the transaction; undefined if it was sent or deleted meanwhile. */
export function lockUnsentDraft(tx: Executor, id: string): Promise<DraftLists | undefined> {
  const lock = tx.dialect === 'pg' ? 'for update of d' : '';
  return tx.get<DraftLists>(`${DRAFTS} where d.id = ? and d.email_id is null ${lock}`, [id]);
}

const REPORTS_OF_IMPORTS = {
  contact_import_failures: ['import_id', 'row'],
  contact_import_skipped_values: ['import_id', 'row', 'column_number'],
} as const;

/** Lists what the reports about a team's imports have of values in their files, with the key of each row. */
export async function valuesOfImports(
  tx: Executor,
  teamId: string,
): Promise<{ table: keyof typeof REPORTS_OF_IMPORTS; key: Row; value: string }[]> {
  const found = [];
  for (const table of Object.keys(REPORTS_OF_IMPORTS) as (keyof typeof REPORTS_OF_IMPORTS)[]) {
    const sql = `select ${REPORTS_OF_IMPORTS[table].join(', ')}, value from ${table}
      where import_id in (select id from contact_imports where team_id = ?) and value is not null`;
    const rows = await tx.all<Row & { value: string }>(sql, [teamId]);
    found.push(...rows.map(({ value, ...key }) => ({ table, key, value })));
  }
  return found;
}

/** Reports whether the address is at a domain of the team, or below one. */
export async function isAtOwnDomain(db: Executor, teamId: string, emailKey: string): Promise<boolean> {
  const labels = emailKey.slice(emailKey.lastIndexOf('@') + 1).split('.');
  const among = textsIn(
    db.dialect,
    'name',
    labels.map((_, at) => labels.slice(at).join('.')),
  );
  const sql = `select 1 as found from domains where team_id = ? and ${among.sql} limit 1`;
  return (await db.get(sql, [teamId, among.value])) !== undefined;
}

export async function hasInboxAt(db: Executor, teamId: string, emailKey: string): Promise<boolean> {
  const sql = 'select 1 as found from inboxes where team_id = ? and address_key = ? and deleted_at is null';
  return (await db.get(sql, [teamId, emailKey])) !== undefined;
}

interface ShownThread {
  subject: string;
  subject_key: string;
  snippet: string;
  notes: string | null;
}

/** Reads a thread and locks it until the end of the transaction. */
export function lockThreadRow(tx: Executor, threadId: string): Promise<ShownThread | undefined> {
  const lock = tx.dialect === 'pg' ? 'for update' : '';
  const sql = `select subject, subject_key, snippet, notes from inbox_threads where id = ? ${lock}`;
  return tx.get<ShownThread>(sql, [threadId]);
}

export interface ThreadMail {
  id: string;
  is_received: number;
  sender: string;
  subject: string;
  to_list: string;
  cc_list: string | null;
  bcc_list: string | null;
}

/** Lists the emails of a thread, oldest first. */
export const emailsOfThread = (tx: Executor, threadId: string): Promise<ThreadMail[]> =>
  tx.all<ThreadMail>(
    `select m.id, 1 as is_received, m.sender, m.subject, m.to_list, m.cc_list, m.bcc_list
      from inbox_emails e join received_emails m on m.id = e.email_id where e.thread_id = ?
      union all select m.id, 0 as is_received, m.sender, m.subject, m.to_list, m.cc_list, m.bcc_list
      from inbox_emails e join emails m on m.id = e.email_id where e.thread_id = ? order by id`,
    [threadId, threadId],
  );

/** Returns the text of an email, sent or received; empty if it has none in a row. */
export async function textOfMail(tx: Executor, id: string): Promise<string> {
  const row = await tx.get<{ text: string | null }>(
    `select text from received_bodies where received_id = ? union all select text from email_bodies where email_id = ?`,
    [id, id],
  );
  return row?.text ?? '';
}

/** Removes the rows that drafts and emails have besides their own. */
export async function removeRowsOfOwners(tx: Executor, table: string, column: string, ids: readonly string[]) {
  const theirs = uuidsIn(tx.dialect, column, ids);
  return tx.run(`delete from ${table} where ${theirs.sql}`, [theirs.value]);
}
