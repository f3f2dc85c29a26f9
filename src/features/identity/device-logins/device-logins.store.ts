import type { Executor } from '../../../platform/db/index.ts';

export type DeviceLoginStatus = 'pending' | 'approved' | 'denied';

export interface DeviceLoginRow {
  id: string;
  device_code_hash: string;
  user_code_hash: string;
  client_name: string;
  address: string;
  user_agent: string;
  status: DeviceLoginStatus;
  session_id: string | null;
  polled_at: number | null;
  created_at: number;
  expires_at: number;
}

const COLUMNS = [
  'id',
  'device_code_hash',
  'user_code_hash',
  'client_name',
  'address',
  'user_agent',
  'status',
  'session_id',
  'polled_at',
  'created_at',
  'expires_at',
] as const;

export const insertDeviceLogin = (tx: Executor, row: DeviceLoginRow): Promise<number> =>
  tx.insertMany('device_logins', COLUMNS, [COLUMNS.map((column) => row[column])]);

export const findByUserCode = (db: Executor, hash: string, now: number): Promise<DeviceLoginRow | undefined> =>
  db.get<DeviceLoginRow>('select * from device_logins where user_code_hash = ? and expires_at > ?', [hash, now]);

export const findByDeviceCode = (db: Executor, hash: string, now: number): Promise<DeviceLoginRow | undefined> =>
  db.get<DeviceLoginRow>('select * from device_logins where device_code_hash = ? and expires_at > ?', [hash, now]);

/** Stores the decision. Returns whether the login was still pending. */
export async function decide(
  tx: Executor,
  { id, status, sessionId }: { id: string; status: 'approved' | 'denied'; sessionId: string | null },
): Promise<boolean> {
  const sql = "update device_logins set status = ?, session_id = ? where id = ? and status = 'pending'";
  return (await tx.run(sql, [status, sessionId, id])) === 1;
}

/** Records a poll. Returns false if the program has already polled since `before`. */
export async function notePoll(
  tx: Executor,
  { id, now, before }: { id: string; now: number; before: number },
): Promise<boolean> {
  const sql = 'update device_logins set polled_at = ? where id = ? and (polled_at is null or polled_at <= ?)';
  return (await tx.run(sql, [now, id, before])) === 1;
}

/** Removes an approved login. Returns true only for one of several concurrent callers. */
export const takeDeviceLogin = async (tx: Executor, id: string): Promise<boolean> =>
  (await tx.run("delete from device_logins where id = ? and status = 'approved'", [id])) === 1;

export const removeDeviceLoginsBefore = (db: Executor, now: number): Promise<number> =>
  db.run('delete from device_logins where expires_at <= ?', [now]);

export const removeAllDeviceLogins = (tx: Executor): Promise<number> => tx.run('delete from device_logins');
