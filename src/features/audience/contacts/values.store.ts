import { textsIn, uuidsIn, type Executor } from '../../../platform/db/index.ts';

/** A value in the index of contacts by property. Booleans are the numbers 0 and 1, texts are folded. */
export interface IndexedValue {
  propertyId: string;
  contactId: string;
  value: string | number;
}

const TABLES = ['contact_texts', 'contact_numbers'] as const;
const isIn = (table: (typeof TABLES)[number]) => (entry: IndexedValue) =>
  (typeof entry.value === 'string') === (table === 'contact_texts');
const toRow = ({ propertyId, value, contactId }: IndexedValue) => [propertyId, value, contactId];

export async function addValues(tx: Executor, entries: readonly IndexedValue[]): Promise<void> {
  for (const table of TABLES) {
    const rows = entries.filter(isIn(table)).map(toRow);
    if (rows.length > 0) await tx.insertMany(table, ['property_id', 'value', 'contact_id'], rows);
  }
}

/** Removes entries; returns how many rows each table lost. */
export async function removeValues(
  tx: Executor,
  entries: readonly IndexedValue[],
): Promise<Record<(typeof TABLES)[number], number>> {
  const removed = { contact_texts: 0, contact_numbers: 0 };
  for (const table of TABLES) {
    const rows = entries.filter(isIn(table)).map(toRow);
    const sql = `delete from ${table} where property_id = ? and value = ? and contact_id = ?`;
    for (const count of rows.length > 0 ? await tx.runEach(sql, rows) : []) removed[table] += count;
  }
  return removed;
}

/**
 * Returns the distinct texts that contacts have for a property, in order and starting after `after`. Each costs one
 * step in the index.
 */
export async function textsAfter(
  db: Executor,
  propertyId: string,
  { after, limit }: { after: string; limit: number },
): Promise<string[]> {
  const next = (behind: string): string =>
    `(select min(t.value) from contact_texts t where t.property_id = ? and t.value > ${behind})`;
  const sql = `with recursive texts (value) as (
      select ${next('?')} union all select ${next('texts.value')} from texts where texts.value is not null)
    select value from texts where value is not null limit ?`;
  const rows = await db.all<{ value: string }>(sql, [propertyId, after, propertyId, limit]);
  return rows.map(({ value }) => value);
}

/** Returns which of these texts contacts have for a property. */
export async function textsAmong(db: Executor, propertyId: string, texts: readonly string[]): Promise<string[]> {
  const among = textsIn(db.dialect, 'value', texts);
  const sql = `select distinct value from contact_texts where property_id = ? and ${among.sql} order by value`;
  const rows = await db.all<{ value: string }>(sql, [propertyId, among.value]);
  return rows.map(({ value }) => value);
}

/** Counts the contacts that have one of these texts for a property. */
export async function countWithTexts(db: Executor, propertyId: string, texts: readonly string[]): Promise<number> {
  const among = textsIn(db.dialect, 'value', texts);
  const sql = `select count(*) as contacts from contact_texts where property_id = ? and ${among.sql}`;
  return Number((await db.get<{ contacts: number }>(sql, [propertyId, among.value]))?.contacts);
}

/** Returns the ids of contacts that have a text for a property, in order and after a contact. */
export async function contactsWithText(
  db: Executor,
  { propertyId, text }: { propertyId: string; text: string },
  { after, limit }: { after: string | undefined; limit: number },
): Promise<string[]> {
  const sql = `select contact_id from contact_texts where property_id = ? and value = ? and contact_id > ?
    order by contact_id limit ?`;
  const rows = await db.all<{ contact_id: string }>(sql, [propertyId, text, after ?? BEFORE_ALL, limit]);
  return rows.map((row) => row.contact_id);
}

const BEFORE_ALL = '00000000-0000-0000-0000-000000000000';

/**
 * Removes up to `limit` of a property's values per table from the index and from their contacts. Returns the number
 * removed.
 */
export async function removeSomeValues(
  tx: Executor,
  { id, team_id: teamId, slot }: { id: string; team_id: string; slot: number },
  limit: number,
): Promise<number> {
  let removed = 0;
  for (const table of TABLES) {
    const sql = `select value, contact_id from ${table} where property_id = ? limit ?`;
    const rows = await tx.all<{ value: string | number; contact_id: string }>(sql, [id, limit]);
    if (rows.length === 0) continue;
    await removeValues(
      tx,
      rows.map(({ value, contact_id: contactId }) => ({ propertyId: id, contactId, value })),
    );
    const among = uuidsIn(
      tx.dialect,
      'id',
      rows.map((row) => row.contact_id),
    );
    const without = (column: string): string =>
      tx.dialect === 'pg' ? `${column} - '${slot}'` : `json_remove(${column}, '$."${slot}"')`;
    await tx.run(
      `update contacts set properties = ${without('properties')}, folded = ${without('folded')}
        where team_id = ? and ${among.sql}`,
      [teamId, among.value],
    );
    removed += rows.length;
  }
  return removed;
}
