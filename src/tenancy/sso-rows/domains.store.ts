import { uuidsIn, type Executor } from '../../platform/db/index.ts';
import type { ConnectionRow } from './connections.store.ts';

export interface SsoDomainRow {
  id: string;
  team_id: string;
  domain: string;
  proof: string;
  /** One sentence on what is wrong, as long as something is. */
  diagnosis: string | null;
  verified_at: number | null;
  /** When DNS last answered otherwise than the time before: since then the diagnosis stands. 0 before anybody has looked. */
  checked_at: number;
  created_at: number;
  /** When it ceased to be proven; null while it is, or never was. */
  lost_at: number | null;
}

const COLUMNS = [
  ...(['id', 'team_id', 'domain', 'proof', 'diagnosis', 'verified_at', 'checked_at', 'created_at'] as const),
];

export const insertSsoDomain = (tx: Executor, row: Omit<SsoDomainRow, 'lost_at'>): Promise<number> =>
  tx.insertMany('sso_domains', COLUMNS, [COLUMNS.map((column) => row[column])]);

export const ssoDomainsOf = (db: Executor, teamId: string): Promise<SsoDomainRow[]> =>
  db.all<SsoDomainRow>('select * from sso_domains where team_id = ? order by domain', [teamId]);

export async function provenDomainsOf(
  db: Executor,
  teamIds: readonly string[],
): Promise<Pick<SsoDomainRow, 'team_id' | 'domain'>[]> {
  if (teamIds.length === 0) return [];
  const among = uuidsIn(db.dialect, 'team_id', teamIds);
  const sql = `select team_id, domain from sso_domains where ${among.sql} and verified_at is not null order by domain`;
  return db.all(sql, [among.value]);
}

export const findSsoDomain = (db: Executor, teamId: string, domain: string): Promise<SsoDomainRow | undefined> =>
  db.get<SsoDomainRow>('select * from sso_domains where team_id = ? and domain = ?', [teamId, domain]);

export const ownerOfDomain = (db: Executor, domain: string): Promise<SsoDomainRow | undefined> =>
  db.get<SsoDomainRow>('select * from sso_domains where domain = ? and verified_at is not null', [domain]);

/** Through which provider the addresses of a domain sign in. */
export const connectionOfDomain = (db: Executor, domain: string): Promise<ConnectionRow | undefined> =>
  db.get<ConnectionRow>(
    `select c.* from sso_domains d join sso_connections c on c.team_id = d.team_id
      where d.domain = ? and d.verified_at is not null`,
    [domain],
  );

export const saveDomainCheck = (
  tx: Executor,
  id: string,
  check: Pick<SsoDomainRow, 'diagnosis' | 'verified_at' | 'checked_at'>,
): Promise<number> =>
  tx.run(
    `update sso_domains set diagnosis = ?, verified_at = ?, checked_at = ?${check.verified_at === null ? '' : ', lost_at = null'}
      where id = ?`,
    [check.diagnosis, check.verified_at, check.checked_at, id],
  );

export const provenDomains = (db: Executor): Promise<SsoDomainRow[]> =>
  db.all<SsoDomainRow>('select * from sso_domains where verified_at is not null order by id');

/** Answers whether it was proven until now. */
export const loseProof = async (tx: Executor, id: string, lost: { diagnosis: string; at: number }): Promise<boolean> =>
  (await tx.run(
    `update sso_domains set verified_at = null, diagnosis = ?, checked_at = ?, lost_at = ?
      where id = ? and verified_at is not null`,
    [lost.diagnosis, lost.at, lost.at, id],
  )) === 1;

export const removeSsoDomain = (tx: Executor, id: string): Promise<number> =>
  tx.run('delete from sso_domains where id = ?', [id]);

export const removeSsoDomainsOf = (tx: Executor, teamId: string): Promise<number> =>
  tx.run('delete from sso_domains where team_id = ?', [teamId]);
