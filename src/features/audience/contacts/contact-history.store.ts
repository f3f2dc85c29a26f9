import { pageSql, pageValues, textsIn, uuidsIn, type Executor, type Page } from '../../../platform/db/index.ts';
import type { Store } from '../../../platform/store.ts';
import type { SuppressionRow } from '../../../mail/suppressions/index.ts';

/** What an entry of each kind records. */
export interface HistoryData {
  event: { name: string; payload: object | null };
  import: { import_id: string };
  suppression: { is_lifted: boolean; origin: 'bounce' | 'complaint' | 'manual'; source_id: string | null };
}

export type HistoryKind = keyof HistoryData;

export interface HistoryEntry<Kind extends HistoryKind = HistoryKind> {
  contactId: string;
  kind: Kind;
  /** Contains the time, so that entries of different kinds sort by id. */
  id: string;
  teamId: string;
  data: HistoryData[Kind];
}

/** Older entries of a contact and kind are removed when a new one is recorded. */
export const HISTORY_MAX = 100;

const COLUMNS = ['contact_id', 'kind', 'id', 'team_id', 'data'] as const;

/** Records entries of one kind, in the transaction of what they record. */
export async function recordHistory<Kind extends HistoryKind>(
  tx: Executor,
  kind: Kind,
  entries: readonly Omit<HistoryEntry<Kind>, 'kind'>[],
): Promise<void> {
  if (entries.length === 0) return;
  await tx.insertMany(
    'contact_history',
    COLUMNS,
    entries.map(({ contactId, id, teamId, data }) => [contactId, kind, id, teamId, JSON.stringify(data)]),
    'on conflict (contact_id, kind, id) do nothing',
  );
  await removeSurplus(tx, kind, [...new Set(entries.map(({ contactId }) => contactId))]);
}

async function removeSurplus(tx: Executor, kind: HistoryKind, contactIds: readonly string[]): Promise<void> {
  const isPg = tx.dialect === 'pg';
  const wanted = isPg ? 'unnest(?::uuid[]) as wanted(value)' : 'json_each(?) as wanted';
  const sql = `select wanted.value as contact_id, (select id from contact_history
      where contact_id = wanted.value and kind = ? order by id desc limit 1 offset ?) as newest_surplus from ${wanted}`;
  const list = isPg ? `{${contactIds.join(',')}}` : JSON.stringify(contactIds);
  const rows = await tx.all<{ contact_id: string; newest_surplus: string | null }>(sql, [kind, HISTORY_MAX, list]);
  const full = rows.filter((row) => row.newest_surplus !== null);
  if (full.length === 0) return;
  await tx.runEach(
    'delete from contact_history where contact_id = ? and kind = ? and id <= ?',
    full.map((row) => [row.contact_id, kind, row.newest_surplus]),
  );
}

/** Records for the contacts with these addresses that they were suppressed, and are not any more. */
export async function recordLiftedSuppressions(
  store: Store,
  tx: Executor,
  teamId: string,
  lifted: readonly SuppressionRow[],
): Promise<void> {
  const among = textsIn(
    tx.dialect,
    'email_key',
    lifted.map((row) => row.email_key),
  );
  // SQLite may read all contacts of the team without the hint.
  const index = tx.dialect === 'pg' ? '' : ' indexed by contacts_email';
  const contacts = await tx.all<{ id: string; email_key: string }>(
    `select id, email_key from contacts${index} where team_id = ? and ${among.sql}`,
    [teamId, among.value],
  );
  const ids = new Map(contacts.map(({ id, email_key: key }) => [key, id]));
  const entries = lifted.flatMap((row) => {
    const contactId = ids.get(row.email_key);
    if (contactId === undefined) return [];
    const { origin, source_id } = row;
    return [
      { contactId, id: toUuid(row.id), teamId, data: { is_lifted: false, origin, source_id } },
      { contactId, id: store.ids.uuid(), teamId, data: { is_lifted: true, origin, source_id } },
    ];
  });
  await recordHistory(tx, 'suppression', entries);
}

/** Returns the UUID in the id of a suppression (`sup_…`). */
export const toUuid = (id: string): string => id.replace(/^sup_(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');

/** Reads one page of the entries of a contact and kind, and one more. */
export async function listHistory<Kind extends HistoryKind>(
  db: Executor,
  contactId: string,
  kind: Kind,
  page: Page,
): Promise<{ id: string; data: HistoryData[Kind] }[]> {
  const sql = pageSql('contact_history', 'contact_id = ? and kind = ?', page, 'id, data');
  const rows = await db.all<{ id: string; data: string }>(sql, [contactId, kind, ...pageValues(page)]);
  return rows.map(({ id, data }) => ({ id, data: JSON.parse(data) as HistoryData[Kind] }));
}

/** Removes the history of a contact that is erased; returns how many entries it had. */
export const eraseHistory = (tx: Executor, contactId: string): Promise<number> =>
  tx.run('delete from contact_history where contact_id = ?', [contactId]);

/** Removes some of a team's entries that are older than an id; returns how many. */
export async function removeHistoryBefore(
  tx: Executor,
  { teamId, beforeId }: { teamId: string; beforeId: string },
  limit: number,
): Promise<number> {
  const sql = 'select contact_id, kind, id from contact_history where team_id = ? and id < ? order by id limit ?';
  const rows = await tx.all<{ contact_id: string; kind: string; id: string }>(sql, [teamId, beforeId, limit]);
  if (rows.length === 0) return 0;
  const contacts = uuidsIn(tx.dialect, 'contact_id', [...new Set(rows.map((row) => row.contact_id))]);
  const ids = uuidsIn(
    tx.dialect,
    'id',
    rows.map((row) => row.id),
  );
  return tx.run(`delete from contact_history where ${contacts.sql} and ${ids.sql}`, [contacts.value, ids.value]);
}
