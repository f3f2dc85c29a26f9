import type { Executor } from '../../platform/db/index.ts';
import { isSameRecord, type RecordRow } from './domain-rows.ts';

const COLUMNS = [
  'domain_id',
  'position',
  'record',
  'name',
  'type',
  'value',
  'priority',
  'status',
  'required',
  'key_status',
] as const;

export async function insertRecords(tx: Executor, records: readonly RecordRow[]): Promise<void> {
  if (records.length === 0) return;
  await tx.insertMany(
    'domain_records',
    COLUMNS,
    records.map((record) => COLUMNS.map((column) => record[column])),
  );
}

/** Every record that is looked up, optional ones included. */
export const recordsToCheck = (db: Executor, domainId: string): Promise<RecordRow[]> =>
  db.all<RecordRow>('select * from domain_records where domain_id = ? order by position', [domainId]);

/**
 * What is to be published. A CAA record where none is needed would forbid every other authority, so it is asked for only
 * once it has been seen to be needed.
 */
export async function recordsOf(db: Executor, domainId: string): Promise<RecordRow[]> {
  return listedRecords(await recordsToCheck(db, domainId));
}

export const listedRecords = <Row extends Pick<RecordRow, 'record' | 'required'>>(records: readonly Row[]): Row[] =>
  records.filter(({ record, required }) => record !== 'TrackingCAA' || required === 1);

/** Makes the stored records these; what did not change is not written. */
export async function saveRecords(
  tx: Executor,
  domainId: string,
  before: readonly RecordRow[],
  after: readonly RecordRow[],
): Promise<void> {
  const isSameList = before.length === after.length && after.every((record, i) => isAt(before[i], record));
  if (!isSameList) {
    await tx.run('delete from domain_records where domain_id = ?', [domainId]);
    return insertRecords(tx, after);
  }
  for (const [i, { status, required, key_status: keyStatus, position }] of after.entries()) {
    const old = before[i];
    if (old?.status === status && old.required === required && old.key_status === keyStatus) continue;
    const sql =
      'update domain_records set status = ?, required = ?, key_status = ? where domain_id = ? and position = ?';
    await tx.run(sql, [status, required, keyStatus, domainId, position]);
  }
}

const isAt = (old: RecordRow | undefined, record: RecordRow): boolean =>
  old !== undefined &&
  old.position === record.position &&
  old.priority === record.priority &&
  isSameRecord(old, record);
