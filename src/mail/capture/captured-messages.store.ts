import { uuidsIn, type Executor } from '../../platform/db/index.ts';
import type { Blobs } from '../../platform/blobs/index.ts';

export interface CapturedRow {
  id: string;
  email_id: string;
  /** Null in messages of earlier versions. */
  delivery_id: string | null;
  team_id: string;
  mail_from: string;
  /** A JSON list of addresses. */
  recipients: string;
  subject: string;
  size: number;
  created_at: number;
}

export const MESSAGE_BLOB = (id: string): string => `${id}/message.eml`;

const COLUMNS = [
  'id',
  'email_id',
  'delivery_id',
  'team_id',
  'mail_from',
  'recipients',
  'subject',
  'size',
  'created_at',
] as const;

/** Inserts messages, except of deliveries that have one already; returns the ids of the others. */
export async function insertCaptured(tx: Executor, rows: readonly CapturedRow[]): Promise<Set<string>> {
  const values = rows.map((row) => COLUMNS.map((column) => row[column]));
  await tx.insertMany('playground_messages', COLUMNS, values, 'on conflict (delivery_id) do nothing');
  const among = uuidsIn(
    tx.dialect,
    'id',
    rows.map(({ id }) => id),
  );
  const inserted = await tx.all<{ id: string }>(`select id from playground_messages where ${among.sql}`, [among.value]);
  return new Set(inserted.map(({ id }) => id));
}

export async function isCaptured(db: Executor, deliveryId: string): Promise<boolean> {
  return (await db.get('select 1 as found from playground_messages where delivery_id = ?', [deliveryId])) !== undefined;
}

export async function findSubject(db: Executor, emailId: string): Promise<string> {
  return (await db.get<{ subject: string }>('select subject from emails where id = ?', [emailId]))?.subject ?? '';
}

/** Lists captured messages, newest first. */
export const listCaptured = (db: Executor, limit: number, beforeId?: string): Promise<CapturedRow[]> =>
  beforeId === undefined
    ? db.all<CapturedRow>('select * from playground_messages order by id desc limit ?', [limit])
    : db.all<CapturedRow>('select * from playground_messages where id < ? order by id desc limit ?', [beforeId, limit]);

/** Reads a message by its own id, by the id of the email, or by a prefix of either. */
export async function readCaptured(
  db: Executor,
  blobs: Blobs,
  idPrefix: string,
): Promise<{ row: CapturedRow; message: Buffer } | undefined> {
  const text = db.dialect === 'pg' ? '::text' : '';
  const sql = `select * from playground_messages where id${text} like ? or email_id${text} like ? order by id desc limit 1`;
  const prefix = `${idPrefix.replaceAll(/[^0-9a-f-]/gi, '')}%`;
  const row = await db.get<CapturedRow>(sql, [prefix, prefix]);
  return row ? { row, message: await blobs.get(MESSAGE_BLOB(row.id)) } : undefined;
}

/** Reads up to `limit` rows of all teams on one side of an id, or from the newest, nearest to it first. */
export function walkCaptured(
  db: Executor,
  from: { olderThan: string } | { newerThan: string } | undefined,
  { emailId, limit }: { emailId: string | undefined; limit: number },
): Promise<CapturedRow[]> {
  const isUpwards = from !== undefined && 'newerThan' in from;
  const where: string[] = [];
  const values: string[] = [];
  if (from !== undefined) {
    where.push(isUpwards ? 'id > ?' : 'id < ?');
    values.push(isUpwards ? from.newerThan : from.olderThan);
  }
  if (emailId !== undefined) {
    where.push('email_id = ?');
    values.push(emailId);
  }
  const condition = where.length === 0 ? '' : `where ${where.join(' and ')}`;
  const sql = `select * from playground_messages ${condition} order by id ${isUpwards ? 'asc' : 'desc'} limit ?`;
  return db.all<CapturedRow>(sql, [...values, limit]);
}

export async function capturedBlobOwners(db: Executor, ids: readonly string[]): Promise<string[]> {
  const among = uuidsIn(db.dialect, 'id', ids);
  return (await db.all<{ id: string }>(`select id from playground_messages where ${among.sql}`, [among.value])).map(
    (row) => row.id,
  );
}

/** Removes expired messages of a team; returns their ids, which own their blobs. */
export async function removeCaptured(
  db: Executor,
  { teamId, beforeId }: { teamId: string; beforeId: string },
  limit: number,
): Promise<string[]> {
  const sql = `delete from playground_messages where id in (select id from playground_messages
    where team_id = ? and id < ? order by id limit ?) returning id`;
  return (await db.all<{ id: string }>(sql, [teamId, beforeId, limit])).map((row) => row.id);
}

/** Removes up to `limit` messages of all teams; returns their ids, which own their blobs. */
export async function removeAllCaptured(db: Executor, limit: number): Promise<string[]> {
  const sql = `delete from playground_messages where id in (select id from playground_messages order by id limit ?)
    returning id`;
  return (await db.all<{ id: string }>(sql, [limit])).map((row) => row.id);
}
