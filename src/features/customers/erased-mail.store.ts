import { uuidsIn, type Executor, type Row, type Value } from '../../platform/db/index.ts';

/** Rows that one statement searches, in about a millisecond: other work runs in between. */
const SEARCHED_AT_ONCE = 1000;

type MailTable = 'emails' | 'received_emails';

/** Every column with addresses, as one text. */
const ADDRESSES: Readonly<Record<MailTable, string>> = {
  emails: "sender || ' ' || to_list || ' ' || coalesce(cc_list, '') || ' ' || coalesce(bcc_list, '')",
  received_emails:
    "sender || ' ' || mail_from || ' ' || to_list || ' ' || coalesce(cc_list, '') || ' ' || coalesce(bcc_list, '') || ' ' || coalesce(sender_key, '')",
};

/**
 * Searches the next mail of a team after an id for a text in its addresses. `lastId` is where the next search begins;
 * undefined at the end.
 */
export async function searchMail(
  db: Executor,
  table: MailTable,
  { teamId, afterId, text }: { teamId: string; afterId: string; text: string },
): Promise<{ rows: Row[]; lastId: string | undefined }> {
  const end = await db.get<{ id: string }>(
    `select id from ${table} where team_id = ? and id > ? order by id limit 1 offset ?`,
    [teamId, afterId, SEARCHED_AT_ONCE - 1],
  );
  const position = db.dialect === 'pg' ? 'strpos' : 'instr';
  const within = end === undefined ? '' : 'and id <= ?';
  const rows = await db.all(
    `select * from ${table} where team_id = ? and id > ? ${within}
      and ${position}(lower(${ADDRESSES[table]}), ?) > 0 order by id`,
    [teamId, afterId, ...(end === undefined ? [] : [end.id]), text],
  );
  return { rows, lastId: end?.id };
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

/** Removes the address from the participants of a team's threads, and the drafts to it that were not sent. */
export async function eraseFromInboxes(
  tx: Executor,
  { teamId, emailKey }: { teamId: string; emailKey: string },
): Promise<string[]> {
  await tx.run(
    `delete from ${PARTICIPANTS} where address_key = ? and inbox_id in (select id from inboxes where team_id = ?)`,
    [emailKey, teamId],
  );
  const drafts = await tx.all<{ id: string; lists: string }>(
    `select id, coalesce(to_list, '') || cc_list || bcc_list as lists from inbox_drafts
      where team_id = ? and email_id is null`,
    [teamId],
  );
  return drafts.filter(({ lists }) => lists.toLowerCase().includes(emailKey)).map(({ id }) => id);
}

const PARTICIPANTS = 'inbox_participants';

export async function removeFailedImportRows(
  tx: Executor,
  { teamId, emailKey }: { teamId: string; emailKey: string },
): Promise<number> {
  const position = tx.dialect === 'pg' ? 'strpos' : 'instr';
  return tx.run(
    `delete from ${FAILURES} where import_id in (select id from contact_imports where team_id = ?)
      and ${position}(lower(value), ?) > 0`,
    [teamId, emailKey],
  );
}

const FAILURES = 'contact_import_failures';

/** Removes the rows that drafts and emails have besides their own. */
export async function removeRowsOfOwners(tx: Executor, table: string, column: string, ids: readonly string[]) {
  const theirs = uuidsIn(tx.dialect, column, ids);
  return tx.run(`delete from ${table} where ${theirs.sql}`, [theirs.value]);
}
