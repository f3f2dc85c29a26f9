import { cutPage, pageSql, pageValues, type Executor, type Page } from '../../../platform/db/index.ts';
import type { PropertyType } from '../../../protocol/contact-filter/index.ts';

export interface PropertyRow {
  id: string;
  team_id: string;
  key: string;
  key_folded: string;
  type: PropertyType;
  slot: number;
  /** JSON. */
  fallback_value: string | null;
  created_at: number;
}

const COLUMNS = ['id', 'team_id', 'key', 'key_folded', 'type', 'slot', 'fallback_value', 'created_at'] as const;
const LIVE = 'team_id = ? and deleted_at is null';

/** Inserts a property. The transaction must have locked the team: two concurrent inserts would take the same slot. */
export async function insertProperty(tx: Executor, row: Omit<PropertyRow, 'slot'>): Promise<void> {
  const sql = 'select coalesce(max(slot), 0) + 1 as next from contact_properties where team_id = ?';
  const slot = (await tx.get<{ next: number }>(sql, [row.team_id]))?.next ?? 1;
  const whole: PropertyRow = { ...row, slot };
  await tx.insertMany('contact_properties', COLUMNS, [COLUMNS.map((column) => whole[column])]);
}

/** Returns all properties of a team that are not deleted; a team has few. */
export function declaredProperties(db: Executor, teamId: string): Promise<PropertyRow[]> {
  return db.all<PropertyRow>(`select ${COLUMNS.join(', ')} from contact_properties where ${LIVE} order by id`, [
    teamId,
  ]);
}

export async function countProperties(db: Executor, teamId: string): Promise<number> {
  const row = await db.get<{ n: number }>(`select count(*) as n from contact_properties where ${LIVE}`, [teamId]);
  return row?.n ?? 0;
}

export function findProperty(db: Executor, teamId: string, id: string): Promise<PropertyRow | undefined> {
  return db.get<PropertyRow>(`select * from contact_properties where ${LIVE} and id = ?`, [teamId, id]);
}

export async function listPropertyRows(
  db: Executor,
  teamId: string,
  page: Page,
): Promise<{ rows: PropertyRow[]; hasMore: boolean }> {
  return cutPage(
    await db.all<PropertyRow>(pageSql('contact_properties', LIVE, page), [teamId, ...pageValues(page)]),
    page,
  );
}

export async function setFallback(tx: Executor, id: string, fallback: string | null): Promise<void> {
  await tx.run('update contact_properties set fallback_value = ? where id = ?', [fallback, id]);
}

/** Marks a property as deleted. Returns whether this call deleted it. */
export async function markDeleted(tx: Executor, teamId: string, id: string, at: number): Promise<boolean> {
  const sql = `update contact_properties set deleted_at = ? where ${LIVE} and id = ?`;
  return (await tx.run(sql, [at, teamId, id])) === 1;
}

/** Returns a deleted property whose values have not all been removed yet. */
export function nextDeletedProperty(db: Executor): Promise<PropertyRow | undefined> {
  return db.get<PropertyRow>('select * from contact_properties where deleted_at is not null order by id limit 1');
}

export async function forgetProperty(tx: Executor, id: string): Promise<void> {
  await tx.run('delete from contact_properties where id = ? and deleted_at is not null', [id]);
}
