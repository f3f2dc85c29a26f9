import type { Executor } from '../../../platform/db/index.ts';

export interface CertificateRow {
  id: string;
  name: string;
  /** Hosts of tracked links and of MTA-STS policies are names of customers, which point here. */
  kind: 'host' | 'tracking' | 'mta_sts';
  /** Sorted and separated by blanks. */
  names: string;
  chain: string | null;
  /** The key is sealed with the instance key and bound to the id, as is `order_key`. */
  private_key: string | null;
  version: number;
  starts_at: number | null;
  ends_at: number | null;
  order_url: string | null;
  order_key: string | null;
  wants_new_key: number;
  next_try_at: number;
  failures: number;
  failing_since: number | null;
  error: string | null;
  lease_owner: string | null;
  lease_until: number | null;
  created_at: number;
}

export const allCertificates = (db: Executor): Promise<CertificateRow[]> =>
  db.all<CertificateRow>('select * from certificates order by kind, name');

/** Lists the certificates without their chains and keys, which are large. */
export const knownCertificates = (
  db: Executor,
): Promise<(Pick<CertificateRow, 'id' | 'name' | 'kind' | 'names' | 'next_try_at'> & { is_issued: number })[]> =>
  db.all(
    `select id, name, kind, names, next_try_at, case when chain is null then 0 else 1 end as is_issued
      from certificates`,
  );

export const certificateById = (db: Executor, id: string): Promise<CertificateRow | undefined> =>
  db.get<CertificateRow>('select * from certificates where id = ?', [id]);

/** Lists the versions that every process polls to notice a new certificate. */
export const issuedVersions = (db: Executor): Promise<Pick<CertificateRow, 'id' | 'kind' | 'names' | 'version'>[]> =>
  db.all('select id, kind, names, version from certificates where chain is not null order by created_at');

/** Inserts a certificate; leaves an existing one of that name unchanged. */
export const insertCertificate = (
  db: Executor,
  row: Pick<CertificateRow, 'id' | 'name' | 'kind' | 'names' | 'created_at'>,
): Promise<number> =>
  db.insertMany(
    'certificates',
    ['id', 'name', 'kind', 'names', 'next_try_at', 'created_at'],
    [[row.id, row.name, row.kind, row.names, row.created_at, row.created_at]],
    'on conflict (name) do nothing',
  );

/** Changes the names. An order in progress is dropped, because it is for the old ones. */
export const changeNames = (
  db: Executor,
  id: string,
  { kind, names, now }: Pick<CertificateRow, 'kind' | 'names'> & { now: number },
): Promise<number> =>
  db.run(
    `update certificates set kind = ?, names = ?, order_url = null, order_key = null, next_try_at = ?, failures = 0
      where id = ? and (names <> ? or kind <> ?)`,
    [kind, names, now, id, names, kind],
  );

export async function removeCertificate(tx: Executor, id: string): Promise<number> {
  await removeChallenges(tx, id);
  return tx.run('delete from certificates where id = ?', [id]);
}

export interface Lease {
  owner: string;
  now: number;
  until: number;
}

/**
 * Leases the next due certificate; if two nodes ask at once, one gets it. Our own names come first: nothing else is
 * reachable without them.
 */
export async function claimDue(db: Executor, { owner, now, until }: Lease): Promise<CertificateRow | undefined> {
  const due = 'next_try_at <= ? and (lease_until is null or lease_until <= ?)';
  const found = await db.get<CertificateRow>(
    `select * from certificates where ${due} order by case kind when 'host' then 0 else 1 end, next_try_at limit 1`,
    [now, now],
  );
  if (!found) return undefined;
  const taken = await db.run(`update certificates set lease_owner = ?, lease_until = ? where id = ? and ${due}`, [
    owner,
    until,
    found.id,
    now,
    now,
  ]);
  // Another node took it: the caller checks again at its next turn.
  return taken === 1 ? certificateById(db, found.id) : undefined;
}

/** Renews the lease of the node that holds it; returns false if another node holds it by now. */
export const renewLease = async (db: Executor, id: string, { owner, until }: Lease): Promise<boolean> =>
  (await db.run('update certificates set lease_until = ? where id = ? and lease_owner = ?', [until, id, owner])) === 1;

export const releaseLease = (db: Executor, id: string, owner: string): Promise<number> =>
  db.run('update certificates set lease_owner = null, lease_until = null where id = ? and lease_owner = ?', [
    id,
    owner,
  ]);

/** Restricts a change to the node that holds the lease, and to the names that were ordered. */
const HELD = 'where id = ? and lease_owner = ? and names = ?';
type Held = Pick<CertificateRow, 'id' | 'names'> & { owner: string };
const heldValues = ({ id, owner, names }: Held): string[] => [id, owner, names];

export const noteOrder = (
  db: Executor,
  held: Held,
  { url, key }: { url: string | null; key: string | null },
): Promise<number> =>
  db.run(`update certificates set order_url = ?, order_key = ? ${HELD}`, [url, key, ...heldValues(held)]);

export interface Issued {
  chain: string;
  key: string;
  startsAt: number;
  endsAt: number;
  renewAt: number;
}

export const noteIssued = (db: Executor, held: Held, issued: Issued): Promise<number> =>
  db.run(
    `update certificates set chain = ?, private_key = ?, starts_at = ?, ends_at = ?, next_try_at = ?,
      version = version + 1, order_url = null, order_key = null, wants_new_key = 0, failures = 0, failing_since = null,
      error = null ${HELD}`,
    [issued.chain, issued.key, issued.startsAt, issued.endsAt, issued.renewAt, ...heldValues(held)],
  );

export const noteFailure = (
  db: Executor,
  held: Held,
  { error, now, nextTryAt }: { error: string; now: number; nextTryAt: number },
): Promise<number> =>
  db.run(
    `update certificates set error = ?, failures = failures + 1, failing_since = coalesce(failing_since, ?),
      next_try_at = ? ${HELD}`,
    [error, now, nextTryAt, ...heldValues(held)],
  );

/** Postpones an order that must wait but has not failed. */
export const putOff = (db: Executor, held: Held, until: number): Promise<number> =>
  db.run(`update certificates set next_try_at = ? ${HELD}`, [until, ...heldValues(held)]);

/** Makes a certificate due at once, with a new key if requested. */
export const makeDue = (db: Executor, id: string, { now, newKey }: { now: number; newKey: boolean }): Promise<number> =>
  db.run(
    `update certificates set next_try_at = ?, failures = 0, wants_new_key = case when ? = 1 then 1 else wants_new_key end
      where id = ?`,
    [now, newKey ? 1 : 0, id],
  );

/** Issued certificates that are neither due nor in progress. */
export const certificatesAtRest = (
  db: Executor,
  now: number,
): Promise<{ id: string; chain: string; next_try_at: number }[]> =>
  db.all(
    `select id, chain, next_try_at from certificates where chain is not null and failing_since is null
      and order_url is null and next_try_at > ?`,
    [now],
  );

export const renewSooner = (db: Executor, id: string, at: number): Promise<number> =>
  db.run('update certificates set next_try_at = ? where id = ? and next_try_at > ?', [at, id, at]);

export const certificatesInTrouble = (
  db: Executor,
): Promise<Pick<CertificateRow, 'name' | 'error' | 'failing_since' | 'next_try_at' | 'ends_at'>[]> =>
  db.all(
    `select name, error, failing_since, next_try_at, ends_at from certificates where failing_since is not null
      order by failing_since`,
  );

export interface ChallengeRow {
  token: string;
  certificate_id: string;
  kind: 'http-01' | 'tls-alpn-01' | 'dns-01';
  name: string;
  key_authorization: string;
  expires_at: number;
}

const CHALLENGE = ['token', 'certificate_id', 'kind', 'name', 'key_authorization', 'expires_at'] as const;

export const putChallenge = (db: Executor, row: ChallengeRow): Promise<number> =>
  db.insertMany(
    'acme_challenges',
    CHALLENGE,
    [CHALLENGE.map((column) => row[column])],
    `on conflict (token) do update set certificate_id = excluded.certificate_id, kind = excluded.kind,
      name = excluded.name, key_authorization = excluded.key_authorization, expires_at = excluded.expires_at`,
  );

export const challengeByToken = (db: Executor, token: string, now: number): Promise<ChallengeRow | undefined> =>
  db.get<ChallengeRow>("select * from acme_challenges where token = ? and kind = 'http-01' and expires_at > ?", [
    token,
    now,
  ]);

export const challengeByName = (db: Executor, name: string, now: number): Promise<ChallengeRow | undefined> =>
  db.get<ChallengeRow>(
    "select * from acme_challenges where name = ? and kind = 'tls-alpn-01' and expires_at > ? order by expires_at desc",
    [name, now],
  );

/**
 * Removes the challenges of a certificate. `forgetChallenge` removes those of a zone, once they were taken out of it.
 */
export const removeChallenges = (db: Executor, certificateId: string): Promise<number> =>
  db.run("delete from acme_challenges where certificate_id = ? and kind <> 'dns-01'", [certificateId]);

export const removeEndedChallenges = (db: Executor, now: number): Promise<number> =>
  db.run("delete from acme_challenges where expires_at <= ? and kind <> 'dns-01'", [now]);

/** Lists the proofs in zones that were written for a certificate. */
export const listZoneProofs = (db: Executor, certificateId: string): Promise<ChallengeRow[]> =>
  db.all<ChallengeRow>("select * from acme_challenges where certificate_id = ? and kind = 'dns-01'", [certificateId]);

/** Lists zone proofs without an order in progress, and those that are older than any order. */
export const strayProofs = (db: Executor, now: number): Promise<ChallengeRow[]> =>
  db.all<ChallengeRow>(
    `select * from acme_challenges h where kind = 'dns-01' and (expires_at <= ? or not exists (select 1 from certificates c
      where c.id = h.certificate_id and (c.order_url is not null or c.lease_until > ?)))
      order by expires_at limit 100`,
    [now, now],
  );

export const forgetChallenge = (db: Executor, token: string): Promise<number> =>
  db.run('delete from acme_challenges where token = ?', [token]);

export interface AccountRow {
  directory: string;
  id: string;
  /** The key is sealed with the instance key and bound to the id. */
  private_key: string;
  url: string | null;
  created_at: number;
}

export const findAccount = (db: Executor, directory: string): Promise<AccountRow | undefined> =>
  db.get<AccountRow>('select * from acme_accounts where directory = ?', [directory]);

/** Inserts the account key; if two nodes do so at once, the first one wins. */
export const insertAccount = (db: Executor, row: AccountRow): Promise<number> =>
  db.insertMany(
    'acme_accounts',
    ['directory', 'id', 'private_key', 'url', 'created_at', 'hour', 'orders_in_hour'],
    [[row.directory, row.id, row.private_key, row.url, row.created_at, 0, 0]],
    'on conflict (directory) do nothing',
  );

export const noteAccountUrl = (db: Executor, id: string, url: string | null): Promise<number> =>
  db.run('update acme_accounts set url = ? where id = ?', [url, id]);

/** Counts one more order in this hour; returns false if the limit is reached. */
export async function countOrder(
  db: Executor,
  id: string,
  { hour, ordersMax }: { hour: number; ordersMax: number },
): Promise<boolean> {
  const counted = await db.run(
    `update acme_accounts set orders_in_hour = case when hour = ? then orders_in_hour + 1 else 1 end, hour = ?
      where id = ? and (hour <> ? or orders_in_hour < ?)`,
    [hour, hour, id, hour, ordersMax],
  );
  return counted === 1;
}
