import { COVER_MAIL } from '../../features/campaigns/broadcasts/index.ts';
import { pageOf, pageSql, pageValues, uuidsIn, type Executor, type Page } from '../../platform/db/index.ts';

/** What an operator's command may select; each is the name of a column. */
export type SelectionKind = 'destination' | 'team_id' | 'email_id';

export interface Selection {
  kind: SelectionKind;
  value: string;
}

export interface HoldRow extends Selection {
  id: string;
  reason: string;
  created_by: string;
  created_at: number;
}

const COLUMNS = ['id', 'kind', 'value', 'reason', 'created_by', 'created_at'] as const;

/** Locks the holds to the end of the transaction, so that they are counted and added by one caller at a time; claims read on. */
export async function lockHolds(tx: Executor): Promise<void> {
  if (tx.dialect === 'pg') await tx.run('lock table queue_holds in share row exclusive mode');
}

export async function insertHold(tx: Executor, row: HoldRow): Promise<void> {
  await tx.insertMany('queue_holds', COLUMNS, [COLUMNS.map((column) => row[column])]);
}

export const findHoldOn = (db: Executor, { kind, value }: Selection): Promise<HoldRow | undefined> =>
  db.get<HoldRow>('select * from queue_holds where kind = ? and value = ?', [kind, value]);

/** Newest first. */
export function holdsById(db: Executor, ids: readonly string[], limit: number): Promise<HoldRow[]> {
  const among = uuidsIn(db.dialect, 'id', ids);
  return db.all<HoldRow>(`select * from queue_holds where ${among.sql} order by id desc limit ?`, [among.value, limit]);
}

/** All holds; there are few, and every claim reads them. */
export const holdsInForce = (db: Executor): Promise<(Selection & { id: string; reason: string })[]> =>
  db.all('select id, kind, value, reason from queue_holds');

export interface HoldOnMail extends Pick<HoldRow, 'id' | 'value' | 'reason'> {
  kind: SelectionKind | 'broadcast_id';
}

/** The same with those of these broadcasts that are held themselves, in one statement. Such a hold has the id of its broadcast. */
export function holdsOnMail(db: Executor, broadcastIds: readonly string[]): Promise<HoldOnMail[]> {
  if (broadcastIds.length === 0) return holdsInForce(db);
  const among = uuidsIn(db.dialect, 'id', broadcastIds);
  const sql = `select id, kind, value, reason from queue_holds
    union all select id, 'broadcast_id' as kind, cast(id as text) as value, held_reason as reason from broadcasts
      where ${among.sql} and held_reason in ${COVER_MAIL}`;
  return db.all(sql, [among.value]);
}

/** Whether an operator holds all mail of a team. */
export const isTeamHeld = async (db: Executor, teamId: string): Promise<boolean> =>
  (await findHoldOn(db, { kind: 'team_id', value: teamId })) !== undefined;

export async function removeHold(tx: Executor, id: string): Promise<boolean> {
  return (await tx.run('delete from queue_holds where id = ?', [id])) === 1;
}

export async function holdPage(db: Executor, page: Page): Promise<{ rows: HoldRow[]; hasMore: boolean }> {
  return pageOf(await db.all<HoldRow>(pageSql('queue_holds', '1 = 1', page), pageValues(page)), page);
}
