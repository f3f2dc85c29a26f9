import type { Db, Executor } from '../../../platform/db/index.ts';

export interface ExaminationRow {
  machine: string;
  check_name: string;
  state: string;
  summary: string;
  /** Findings as a JSON array. */
  findings: string;
  /** Names of what could be examined as a JSON array. */
  examined: string;
  checked_at: number;
  known_at: number;
}

const COLUMNS = [
  'machine',
  'check_name',
  'state',
  'summary',
  'findings',
  'examined',
  'checked_at',
  'known_at',
] as const;

/** Replaces the last result of one check of a machine. */
export const putCheck = (tx: Executor, row: ExaminationRow): Promise<number> =>
  tx.run(
    `insert into examinations (${COLUMNS.join(', ')}) values (?, ?, ?, ?, ?, ?, ?, ?)
      on conflict (machine, check_name) do update set state = excluded.state, summary = excluded.summary,
        findings = excluded.findings, examined = excluded.examined, checked_at = excluded.checked_at, known_at = excluded.known_at`,
    COLUMNS.map((column) => row[column]),
  );

export const listChecks = (db: Executor, machine: string): Promise<ExaminationRow[]> =>
  db.all<ExaminationRow>('select * from examinations where machine = ?', [machine]);

/** Removes checks that the machine no longer runs, and those of machines that are gone. */
export async function forgetChecks(tx: Executor, machine: string, at: number, goneBefore: number): Promise<void> {
  await tx.run('delete from examinations where machine = ? and checked_at < ?', [machine, at]);
  await tx.run('delete from examinations where checked_at < ?', [goneBefore]);
}

/** Lists recent checks. A machine has eleven, so this is little however long it runs. */
export const checksSince = (db: Executor, since: number): Promise<ExaminationRow[]> =>
  db.all<ExaminationRow>('select * from examinations where checked_at > ? order by machine, check_name limit 1000', [
    since,
  ]);

export const forgetExaminations = (tx: Executor): Promise<number> => tx.run('delete from examinations');

export interface DiskSample {
  at: number;
  free_bytes: number;
}

export async function putSample(db: Db, machine: string, { at, free_bytes: free }: DiskSample): Promise<void> {
  const sql = `insert into disk_samples (machine, at, free_bytes) values (?, ?, ?)
    on conflict (machine, at) do update set free_bytes = excluded.free_bytes`;
  await db.tx((tx) => tx.run(sql, [machine, at, free]));
}

export async function samplesSince(db: Executor, machine: string, since: number): Promise<DiskSample[]> {
  const sql = 'select at, free_bytes from disk_samples where machine = ? and at >= ? order by at';
  const rows = await db.all<DiskSample>(sql, [machine, since]);
  return rows.map((row) => ({ at: Number(row.at), free_bytes: Number(row.free_bytes) }));
}

export const forgetSamplesBefore = (db: Executor, before: number): Promise<number> =>
  db.run('delete from disk_samples where at < ?', [before]);

/** Reads the clock of PostgreSQL, and the address of its machine; null for a socket that is a file. */
export async function readPostgresClock(db: Db): Promise<{ now: number; address: string | null }> {
  const row = await db.get<{ now: number; address: string | null }>(
    `select cast(extract(epoch from clock_timestamp()) * 1000 as bigint) as now, host(inet_server_addr()) as address`,
  );
  if (!row) throw new Error('the database did not return its time');
  return { now: Number(row.now), address: row.address };
}

/** How PostgreSQL is replicated, as far as the database user may see it. */
export interface Replication {
  version: string;
  isStandby: boolean;
  /** The value that commits of rasket use. */
  synchronousCommit: string;
  /** Empty if no commit waits for a standby. */
  synchronousStandbys: string;
  /** The state of each connected standby, such as `streaming`; null if the user may not see it. */
  standbys: (string | null)[];
  /** How many of them a commit waits for, or may wait for. */
  synchronous: number;
}

export async function readReplication(db: Db): Promise<Replication> {
  const row = await db.get<Omit<Replication, 'standbys'> & { standbys: string }>(
    `select current_setting('server_version') as version, pg_is_in_recovery() as "isStandby",
        current_setting('synchronous_commit') as "synchronousCommit",
        current_setting('synchronous_standby_names') as "synchronousStandbys",
        (select coalesce(json_agg(state), '[]')::text from pg_stat_replication) as standbys,
        (select count(*) from pg_stat_replication where sync_state in ('sync', 'quorum')) as synchronous
      from (select 1) as one`,
  );
  if (!row) throw new Error('row missing in the answer about replication');
  return { ...row, synchronous: Number(row.synchronous), standbys: JSON.parse(row.standbys) as (string | null)[] };
}
