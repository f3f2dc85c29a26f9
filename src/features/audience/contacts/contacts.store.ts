import {
  cutPage,
  pageSql,
  pageValues,
  rowsEnding,
  textsIn,
  uuidsIn,
  type Executor,
  type Page,
  type Value,
} from '../../../platform/db/index.ts';

export interface ContactRow {
  team_id: string;
  id: string;
  email: string;
  email_key: string;
  first_name: string | null;
  last_name: string | null;
  first_name_key: string | null;
  last_name_key: string | null;
  unsubscribed: number;
  /** JSON, keyed by the slots of properties; PostgreSQL returns it parsed. */
  properties: string | object | null;
  /** The same with folded texts, if folding changes any of them. */
  folded: string | object | null;
  created_at: number;
  updated_at: number;
  /** The import that created it; null for all others. */
  import_id: string | null;
}

export const CONTACT_COLUMNS = [
  'team_id',
  'id',
  'email',
  'email_key',
  'first_name',
  'last_name',
  'first_name_key',
  'last_name_key',
  'unsubscribed',
  'properties',
  'folded',
  'created_at',
  'updated_at',
  'import_id',
] as (keyof ContactRow)[];

/** Columns of a contact list. */
export const LISTED = 'c.id, c.email, c.first_name, c.last_name, c.unsubscribed, c.created_at';
export type ListedRow = Pick<ContactRow, 'id' | 'email' | 'first_name' | 'last_name' | 'unsubscribed' | 'created_at'>;

/** Inserts contacts and leaves existing addresses as they are. Returns the number of new contacts. */
export function insertContacts(tx: Executor, rows: readonly ContactRow[]): Promise<number> {
  return tx.insertMany(
    'contacts',
    CONTACT_COLUMNS,
    rows.map((row) => CONTACT_COLUMNS.map((column) => row[column] as Value)),
    'on conflict (team_id, email_key) do nothing',
  );
}

const CHANGED = CONTACT_COLUMNS.filter((column) => !['team_id', 'id', 'created_at', 'import_id'].includes(column));

export async function updateContactRows(tx: Executor, rows: readonly ContactRow[]): Promise<void> {
  const sets = CHANGED.map((column) => `${column} = ?`).join(', ');
  await tx.runEach(
    `update contacts set ${sets} where team_id = ? and id = ?`,
    rows.map((row) => [...CHANGED.map((column) => row[column] as Value), row.team_id, row.id]),
  );
}

export async function unsubscribeContactRows(tx: Executor, teamId: string, ids: readonly string[]): Promise<void> {
  const among = uuidsIn(tx.dialect, 'id', ids);
  await tx.run(`update contacts set unsubscribed = 1 where team_id = ? and ${among.sql}`, [teamId, among.value]);
}

/** Locks rows that are about to be changed; only PostgreSQL needs this. */
const held = (db: Executor, isHeld: boolean): string => (isHeld && db.dialect === 'pg' ? ' for update' : '');

export function findContact(
  db: Executor,
  teamId: string,
  by: { id: string } | { emailKey: string },
  isHeld = false,
): Promise<ContactRow | undefined> {
  const [column, value] = 'id' in by ? ['id', by.id] : ['email_key', by.emailKey];
  return db.get<ContactRow>(`select * from contacts where team_id = ? and ${column} = ?${held(db, isHeld)}`, [
    teamId,
    value,
  ]);
}

export function findContactsByKeys(db: Executor, teamId: string, emailKeys: readonly string[]): Promise<ContactRow[]> {
  const among = textsIn(db.dialect, 'email_key', emailKeys);
  // All transactions lock the rows in the same order, so that they cannot deadlock.
  const order = db.dialect === 'pg' ? ` order by id${held(db, true)}` : '';
  // SQLite reads all contacts of the team by their primary key without the hint.
  const index = db.dialect === 'pg' ? '' : ' indexed by contacts_email';
  const sql = `select * from contacts${index} where team_id = ? and ${among.sql}${order}`;
  return db.all<ContactRow>(sql, [teamId, among.value]);
}

/** Returns the contacts with these ids and addresses, locked until the end of the transaction. */
export async function lockContacts(
  tx: Executor,
  teamId: string,
  { ids, emailKeys }: { ids: readonly string[]; emailKeys: readonly string[] },
): Promise<Pick<ContactRow, 'id' | 'email_key'>[]> {
  const index = tx.dialect === 'pg' ? '' : ' indexed by contacts_email';
  const amongKeys = textsIn(tx.dialect, 'email_key', emailKeys);
  const sql = `select id from contacts${index} where team_id = ? and ${amongKeys.sql}`;
  const named = emailKeys.length === 0 ? [] : await tx.all<{ id: string }>(sql, [teamId, amongKeys.value]);
  const among = uuidsIn(tx.dialect, 'id', [...new Set([...ids, ...named.map(({ id }) => id)])]);
  // All transactions lock the rows in the same order, so that they cannot deadlock.
  const order = tx.dialect === 'pg' ? ` order by id${held(tx, true)}` : '';
  return tx.all(`select id, email_key from contacts where team_id = ? and ${among.sql}${order}`, [teamId, among.value]);
}

/** Counts which of these addresses are contacts. */
export async function countContactsByKeys(db: Executor, teamId: string, emailKeys: readonly string[]): Promise<number> {
  const among = textsIn(db.dialect, 'email_key', emailKeys);
  const index = db.dialect === 'pg' ? '' : ' indexed by contacts_email';
  const sql = `select count(*) as count from contacts${index} where team_id = ? and ${among.sql}`;
  return Number((await db.get<{ count: number }>(sql, [teamId, among.value]))?.count ?? 0);
}

export function findContactsByIds(db: Executor, teamId: string, ids: readonly string[]): Promise<ContactRow[]> {
  const among = uuidsIn(db.dialect, 'id', ids);
  return db.all<ContactRow>(`select * from contacts where team_id = ? and ${among.sql}`, [teamId, among.value]);
}

export async function listContactRows(db: Executor, teamId: string, page: Page): Promise<ListedRow[]> {
  const sql = pageSql('contacts c', 'team_id = ?', page, LISTED);
  return cutPage(await db.all<ListedRow>(sql, [teamId, ...pageValues(page)]), page).rows;
}

export const contactRowsEnding = (db: Executor, teamId: string, end: string, page: Page) =>
  rowsEnding<ListedRow>(db, { ...BY_END, where: { sql: 'c.team_id = ?', values: [teamId] } }, end, page);

const BY_END = { table: 'contacts c', columns: LISTED, id: 'c.id', form: 'uuid', noun: 'contacts' } as const;

/** Deletes a contact's row. Returns whether this call deleted it. */
export async function removeContactRow(tx: Executor, teamId: string, id: string): Promise<boolean> {
  return (await tx.run('delete from contacts where team_id = ? and id = ?', [teamId, id])) === 1;
}
