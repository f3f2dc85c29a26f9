import { withoutCommitNotice, type Executor } from '../../platform/db/index.ts';
import type { RiskState } from './teams.store.ts';

/** A team that is to be deleted, or is being deleted. */
export interface DeletionRow {
  team_id: string;
  reason: string;
  requested_by: string | null;
  /** The state that the team has again if it is kept. */
  risk_state: RiskState;
  risk_reason: string | null;
  requested_at: number;
  due_at: number;
  started_at: number | null;
  /** Set once only what the open month is billed by remains. */
  removed_at: number | null;
  /** A JSON object: the number of removed rows by table, of accounts and of owners of files. */
  removed: string;
  lease_owner: string | null;
  lease_until: number | null;
}

const COLUMNS = [
  'team_id',
  'reason',
  'requested_by',
  'risk_state',
  'risk_reason',
  'requested_at',
  'due_at',
  'removed',
] as const;

const toNumbers = (row: DeletionRow): DeletionRow => ({
  ...row,
  requested_at: Number(row.requested_at),
  due_at: Number(row.due_at),
  started_at: row.started_at === null ? null : Number(row.started_at),
  removed_at: row.removed_at === null ? null : Number(row.removed_at),
  lease_until: row.lease_until === null ? null : Number(row.lease_until),
});

export type NewDeletion = Pick<DeletionRow, (typeof COLUMNS)[number]>;

/** Inserts a deletion; returns 0 if there is one already. */
export const insertDeletion = (tx: Executor, row: NewDeletion): Promise<number> =>
  tx.insertMany('team_deletions', COLUMNS, [COLUMNS.map((column) => row[column])], 'on conflict (team_id) do nothing');

export async function findDeletion(db: Executor, teamId: string): Promise<DeletionRow | undefined> {
  const row = await db.get<DeletionRow>('select * from team_deletions where team_id = ?', [teamId]);
  return row && toNumbers(row);
}

export async function listDeletions(db: Executor): Promise<DeletionRow[]> {
  return (await db.all<DeletionRow>('select * from team_deletions order by team_id')).map(toNumbers);
}

export const hastenDeletion = (
  tx: Executor,
  teamId: string,
  { dueAt, reason }: { dueAt: number; reason: string },
): Promise<number> =>
  tx.run(
    `update team_deletions set reason = ?, due_at = case when due_at > ? then ? else due_at end
      where team_id = ? and removed_at is null`,
    [reason, dueAt, dueAt, teamId],
  );

/** Takes a deletion back unless it has started; returns whether it did. */
export const cancelDeletion = async (tx: Executor, teamId: string): Promise<boolean> =>
  (await tx.run('delete from team_deletions where team_id = ? and started_at is null', [teamId])) === 1;

/** Lists what is to be worked on, the longest due first: deletions that are due, and those that wait for a bill. */
export async function dueDeletions(db: Executor, now: number): Promise<DeletionRow[]> {
  const sql = 'select * from team_deletions where due_at <= ? order by due_at, team_id limit 100';
  return (await db.all<DeletionRow>(sql, [now])).map(toNumbers);
}

interface DeletionLease {
  owner: string;
  now: number;
  until: number;
}

/** Leases a due deletion; undefined if another process has it. */
export async function claimDeletion(
  db: Executor,
  teamId: string,
  { owner, now, until }: DeletionLease,
): Promise<DeletionRow | undefined> {
  const row = await db.get<DeletionRow>(
    `update team_deletions set lease_owner = ?, lease_until = ?
      where team_id = ? and due_at <= ? and (lease_owner is null or lease_owner = ? or lease_until <= ?) returning *`,
    [owner, until, teamId, now, owner, now],
  );
  return row && toNumbers(row);
}

export const releaseDeletion = (db: Executor, teamId: string, owner: string): Promise<number> =>
  db.run(
    withoutCommitNotice(
      'update team_deletions set lease_owner = null, lease_until = null where team_id = ? and lease_owner = ?',
    ),
    [teamId, owner],
  );

/** Notes that the removal begins; returns whether it had not begun before. */
export const beginDeletion = async (tx: Executor, teamId: string, at: number): Promise<boolean> =>
  (await tx.run('update team_deletions set started_at = ? where team_id = ? and started_at is null', [at, teamId])) ===
  1;

/** Saves the progress in the transaction that makes it, and extends the lease; returns 0 if the lease is lost. */
export const noteRemoved = (
  tx: Executor,
  { team_id: teamId, removed }: Pick<DeletionRow, 'team_id' | 'removed'>,
  { owner, until }: Pick<DeletionLease, 'owner' | 'until'>,
): Promise<number> =>
  tx.run(
    withoutCommitNotice('update team_deletions set removed = ?, lease_until = ? where team_id = ? and lease_owner = ?'),
    [removed, until, teamId, owner],
  );

export const finishDeletion = (tx: Executor, teamId: string, at: number): Promise<number> =>
  tx.run('update team_deletions set removed_at = ? where team_id = ?', [at, teamId]);
