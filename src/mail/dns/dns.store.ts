import { textsIn, uuidsIn, type Executor } from '../../platform/db/index.ts';

/** A record that we published, or were about to: it is recorded here before it is published. */
export interface PublishedRow {
  id: string;
  domain_id: string;
  provider: string;
  zone: string;
  name: string;
  type: string;
  value: string;
  priority: number | null;
  created_at: number;
}

/** A domain whose records are published automatically, or whose published records are not all removed yet. */
export interface SetupRow {
  domain_id: string;
  team_id: string;
  domain_name: string;
  provider: string;
  zone: string;
  /**
   * Fingerprint of the records last published; empty before the first publication has finished, LEAVING when nothing is
   * to be published any more.
   */
  fingerprint: string;
  failures: number;
  fault: string | null;
  retry_at: number | null;
  created_at: number;
}

/**
 * Stored in place of a fingerprint: the setup exists only to remove what was published, as soon as no other domain
 * wants it.
 */
export const LEAVING = 'leaving';

const PUBLISHED = ['id', 'domain_id', 'provider', 'zone', 'name', 'type', 'value', 'priority', 'created_at'] as const;
const SETUP = [
  'domain_id',
  'team_id',
  'domain_name',
  'provider',
  'zone',
  'fingerprint',
  'failures',
  'fault',
  'retry_at',
  'created_at',
] as const;

export const publishedFor = (db: Executor, domainId: string): Promise<PublishedRow[]> =>
  db.all<PublishedRow>('select * from dns_published where domain_id = ? order by id', [domainId]);

/** Records published rows. Rows that were recorded before stay as they are. */
export async function addPublished(db: Executor, rows: readonly PublishedRow[]): Promise<void> {
  if (rows.length === 0) return;
  await db.insertMany(
    'dns_published',
    PUBLISHED,
    rows.map((row) => PUBLISHED.map((column) => row[column])),
    'on conflict (id) do nothing',
  );
}

export async function forgetPublished(db: Executor, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  const among = uuidsIn(db.dialect, 'id', ids);
  await db.run(`delete from dns_published where ${among.sql}`, [among.value]);
}

/** Makes another domain responsible for removing these records. */
export async function yieldPublished(db: Executor, ids: readonly string[], domainId: string): Promise<void> {
  if (ids.length === 0) return;
  const among = uuidsIn(db.dialect, 'id', ids);
  await db.run(`update dns_published set domain_id = ? where ${among.sql}`, [domainId, among.value]);
}

export const findSetup = (db: Executor, domainId: string): Promise<SetupRow | undefined> =>
  db.get<SetupRow>('select * from dns_setups where domain_id = ?', [domainId]);

export const setupsOfName = (db: Executor, name: string): Promise<SetupRow[]> =>
  db.all<SetupRow>('select * from dns_setups where domain_name = ? order by domain_id', [name]);

/** Returns the setups that exist for these domains, read and locked until the end of the transaction. */
export async function lockSetups(tx: Executor, domainIds: readonly string[]): Promise<Map<string, SetupRow>> {
  const among = uuidsIn(tx.dialect, 'domain_id', domainIds);
  const lock = tx.dialect === 'pg' ? 'for update' : '';
  // Always in the same order, to avoid deadlocks.
  const sql = `select * from dns_setups where ${among.sql} order by domain_id ${lock}`;
  return new Map((await tx.all<SetupRow>(sql, [among.value])).map((row) => [row.domain_id, row]));
}

/** Reads one batch of the setups that may be checked now, by domain. */
export const setupsAfter = (db: Executor, domainId: string | undefined, now: number, limit: number) =>
  db.all<SetupRow>(
    `select * from dns_setups where ${domainId === undefined ? '' : 'domain_id > ? and'} coalesce(retry_at, 0) <= ?
      order by domain_id limit ?`,
    [...(domainId === undefined ? [] : [domainId]), now, limit],
  );

/** Inserts a setup that is not finished yet; an existing one is locked to the end of the transaction and stays. */
export async function beginSetup(tx: Executor, row: SetupRow): Promise<void> {
  const values = SETUP.map((column) => row[column]);
  const keep = 'on conflict (domain_id) do update set domain_id = excluded.domain_id';
  await tx.insertMany('dns_setups', SETUP, [values], keep);
}

export async function saveSetup(db: Executor, row: SetupRow): Promise<void> {
  const sets = ['provider', 'zone', 'fingerprint', 'failures', 'fault', 'retry_at']
    .map((column) => `${column} = excluded.${column}`)
    .join(', ');
  await db.insertMany(
    'dns_setups',
    SETUP,
    [SETUP.map((column) => row[column])],
    `on conflict (domain_id) do update set ${sets}`,
  );
}

export const noteSetupFault = (db: Executor, domainId: string, fault: string, retryAt: number): Promise<number> =>
  db.run('update dns_setups set fault = ?, retry_at = ?, failures = failures + 1 where domain_id = ?', [
    fault,
    retryAt,
    domainId,
  ]);

export const endSetup = (db: Executor, domainId: string): Promise<number> =>
  db.run('delete from dns_setups where domain_id = ?', [domainId]);

export interface Heir {
  id: string;
  team_id: string;
  name: string;
  /** The provider that publishes its records automatically; null if none does. */
  provider: string | null;
  zone: string | null;
}

/**
 * Finds other domains of these names, of any team, whose records count: those that hold their name, and those that have
 * published something and not removed it. Domains that publish automatically come first.
 */
export function findHeirs(db: Executor, names: readonly string[], exceptId: string): Promise<Heir[]> {
  const among = textsIn(db.dialect, 'd.name', names);
  return db.all<Heir>(
    `select d.id, d.team_id, d.name, s.provider, s.zone from domains d left join dns_setups s on s.domain_id = d.id
      where ${among.sql} and d.id <> ? and (d.held_at is not null or s.domain_id is not null
        or exists (select 1 from dns_published p where p.domain_id = d.id)) and coalesce(s.fingerprint, '') <> ?
      order by case when s.domain_id is null then 1 else 0 end, case when d.held_at is null then 1 else 0 end, d.id`,
    [among.value, exceptId, LEAVING],
  );
}

/**
 * Forgets records that were published with a token that was not kept, for domains that are gone: only their owner can
 * remove them.
 */
export const forgetStrandedRecords = (db: Executor): Promise<number> =>
  db.run(
    `delete from dns_published where not exists (select 1 from domains d where d.id = dns_published.domain_id)
      and not exists (select 1 from dns_setups s where s.domain_id = dns_published.domain_id)`,
  );
