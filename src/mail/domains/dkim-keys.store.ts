import { uuidsIn, type Executor } from '../../platform/db/index.ts';
import type { DkimKeyRow, KeyStatus } from './domain-rows.ts';

const COLUMNS = [
  'id',
  'domain_id',
  'selector',
  'algorithm',
  'bits',
  'private_key_sealed',
  'created_at',
  'status',
  'status_at',
] as const;

export async function insertKeys(tx: Executor, keys: readonly DkimKeyRow[]): Promise<void> {
  if (keys.length === 0) return;
  await tx.insertMany(
    'dkim_keys',
    COLUMNS,
    keys.map((key) => COLUMNS.map((column) => key[column])),
  );
}

/** Every key of a domain, whatever it is for at present, oldest first. */
export const keysOf = (db: Executor, domainId: string): Promise<DkimKeyRow[]> =>
  db.all<DkimKeyRow>('select * from dkim_keys where domain_id = ? order by id', [domainId]);

/**
 * The keys that sign the mail of many domains, oldest first: the active ones, and of those that are only signed with
 * beside another (Ed25519) the ones whose record has been seen.
 */
export function dkimKeysOf(db: Executor, domainIds: readonly string[]): Promise<DkimKeyRow[]> {
  const among = uuidsIn(db.dialect, 'k.domain_id', domainIds);
  const sql = `select k.* from dkim_keys k join domains d on d.id = k.domain_id
    where ${among.sql} and k.status = 'active' and (k.algorithm = 'rsa-sha256' or exists (
      select 1 from domain_records r where r.domain_id = k.domain_id and r.record = 'DKIM' and r.status = 'verified'
        and r.name = k.selector || '._domainkey.' || d.name))
    order by k.id`;
  return db.all<DkimKeyRow>(sql, [among.value]);
}

export async function setKeyStatus(tx: Executor, ids: readonly string[], status: KeyStatus, at: number): Promise<void> {
  if (ids.length === 0) return;
  const among = uuidsIn(tx.dialect, 'id', ids);
  await tx.run(`update dkim_keys set status = ?, status_at = ? where ${among.sql}`, [status, at, among.value]);
}

export async function deleteKeys(tx: Executor, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  const among = uuidsIn(tx.dialect, 'id', ids);
  await tx.run(`delete from dkim_keys where ${among.sql}`, [among.value]);
}
