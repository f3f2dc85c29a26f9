import { cutPage, pageSql, pageValues, type Executor, type Page } from '../../../platform/db/index.ts';
import { isUuid } from '../../../platform/ids.ts';

export type StoredStatus = 'pending' | 'running' | 'done' | 'failed' | 'rejected' | 'expired';

export interface ApprovalRow {
  id: string;
  team_id: string;
  grant_id: string;
  client_name: string;
  operation_id: string;
  call: string;
  call_hash: string;
  seen_hash: string;
  subject_ids: string;
  /** The broadcast that the call sends; if the call creates it, set once it exists. */
  broadcast_id: string | null;
  /** Number of subscribed contacts in its segment when the app asked. */
  seen_contacts: number | null;
  /** Sample of the addresses it would be sent to, as `writeSample` formats it; null if it sends no broadcast. */
  seen_audience: string | null;
  /** JSON of `ApprovalAbout`. */
  about: string | null;
  status: StoredStatus;
  decided_by_kind: 'user' | 'api_key' | null;
  decided_by_name: string | null;
  reason: string | null;
  result: string | null;
  error: string | null;
  created_at: number;
  expires_at: number;
  decided_at: number | null;
}

const NEW = [
  'id',
  'team_id',
  'grant_id',
  'client_name',
  'operation_id',
  'call',
  'call_hash',
  'seen_hash',
  'subject_ids',
  'broadcast_id',
  'seen_contacts',
  'seen_audience',
  'about',
  'status',
  'created_at',
  'expires_at',
] as const;

export type NewApproval = Pick<ApprovalRow, (typeof NEW)[number]>;

export async function insertApproval(tx: Executor, row: NewApproval): Promise<void> {
  await tx.insertMany('approvals', NEW, [NEW.map((column) => row[column])]);
}

export const findApproval = (db: Executor, teamId: string, id: string): Promise<ApprovalRow | undefined> =>
  db.get<ApprovalRow>('select * from approvals where team_id = ? and id = ?', [teamId, id]);

/**
 * Locks an approval until the end of the transaction, so that of two concurrent decisions the second one sees the
 * first.
 */
export const lockApproval = (tx: Executor, teamId: string, id: string): Promise<ApprovalRow | undefined> =>
  tx.get<ApprovalRow>(
    `select * from approvals where team_id = ? and id = ? ${tx.dialect === 'pg' ? 'for update' : ''}`,
    [teamId, id],
  );

/** Returns the newest approval that an app requested with the same call. */
export const newestOfCall = (
  tx: Executor,
  { grantId, callHash }: { grantId: string; callHash: string },
): Promise<ApprovalRow | undefined> =>
  tx.get<ApprovalRow>('select * from approvals where grant_id = ? and call_hash = ? order by id desc limit 1', [
    grantId,
    callHash,
  ]);

export async function countPending(tx: Executor, grantId: string, now: number): Promise<number> {
  const sql = `select count(*) as n from approvals where grant_id = ? and status = 'pending' and expires_at > ?`;
  return Number((await tx.get<{ n: number }>(sql, [grantId, now]))?.n ?? 0);
}

/** An app in a team: all grants that people of the team gave to the client of this grant. */
export interface AppInTeam {
  teamId: string;
  grantId: string;
}

const ofApp = (columns: { team: string; grant: string }): string => `${columns.team} = ? and ${columns.grant} in
  (select id from oauth_grants where client_id = (select client_id from oauth_grants where id = ?))`;

/** Returns the subjects of calls of an app that wait for a decision or are running. */
export const subjectsThatWait = async (
  db: Executor,
  { teamId, grantId }: AppInTeam,
  { now, brokenOff }: { now: number; brokenOff: number },
): Promise<Set<string>> => {
  const rows = await db.all<{ subject_ids: string }>(
    `select subject_ids from approvals where ${ofApp({ team: 'team_id', grant: 'grant_id' })} and subject_ids <> '[]'
      and ((status = 'pending' and expires_at > ?) or (status = 'running' and decided_at > ?))`,
    [teamId, grantId, now, brokenOff],
  );
  return new Set(rows.flatMap((row) => JSON.parse(row.subject_ids) as string[]));
};

/**
 * Returns the subjects of the calls of an app whose broadcast has not been sent yet. A canceled broadcast does not
 * count.
 */
export const subjectsThatLeave = async (db: Executor, { teamId, grantId }: AppInTeam): Promise<Set<string>> => {
  const rows = await db.all<{ subject_ids: string }>(
    `select a.subject_ids from approvals a join broadcasts b on b.id = a.broadcast_id
      where ${ofApp({ team: 'a.team_id', grant: 'a.grant_id' })} and a.broadcast_id is not null and a.status in ('running', 'done')
      and b.status in ('scheduled', 'queued', 'sending')`,
    [teamId, grantId],
  );
  return new Set(rows.flatMap((row) => JSON.parse(row.subject_ids) as string[]));
};

export interface ApprovalFilter {
  teamId: string;
  /** Restricts the list to one app. */
  grantId: string | undefined;
  status: StoredStatus | undefined;
  now: number;
  /** Calls that began to run before this time count as broken off. */
  brokenOff: number;
}

/** Lists approvals by their displayed status: pending calls expire, and running calls break off, by time alone. */
export async function approvalPage(
  db: Executor,
  { teamId, grantId, status, now, brokenOff }: ApprovalFilter,
  page: Page,
): Promise<{ rows: ApprovalRow[]; hasMore: boolean }> {
  const [byStatus, ofStatus] = statusSql(status, { now, brokenOff });
  const byGrant = grantId === undefined ? '' : ' and grant_id = ?';
  const values = [teamId, ...ofStatus, ...(grantId === undefined ? [] : [grantId]), ...pageValues(page)];
  const sql = pageSql('approvals', `team_id = ?${byStatus}${byGrant}`, page);
  return cutPage(await db.all<ApprovalRow>(sql, values), page);
}

function statusSql(
  status: StoredStatus | undefined,
  { now, brokenOff }: { now: number; brokenOff: number },
): [sql: string, values: (string | number)[]] {
  switch (status) {
    case undefined:
      return ['', []];
    case 'pending':
      return [` and status = 'pending' and expires_at > ?`, [now]];
    case 'expired':
      return [` and (status = 'expired' or (status = 'pending' and expires_at <= ?))`, [now]];
    case 'running':
      return [` and status = 'running' and decided_at > ?`, [brokenOff]];
    case 'failed':
      return [` and (status = 'failed' or (status = 'running' and decided_at <= ?))`, [brokenOff]];
    default:
      return [' and status = ?', [status]];
  }
}

export interface Decided {
  status: 'running' | 'rejected';
  by: { kind: 'user' | 'api_key'; name: string | null };
  reason: string | null;
  at: number;
}

export const noteDecision = (tx: Executor, id: string, { status, by, reason, at }: Decided): Promise<number> =>
  tx.run(
    `update approvals set status = ?, decided_by_kind = ?, decided_by_name = ?, reason = ?, decided_at = ?
      where id = ? and status = 'pending'`,
    [status, by.kind, by.name, reason, at, id],
  );

/**
 * Rejects every pending call of an app in a team and returns their number. An app is named by the name it gave itself,
 * by its client id or by a grant.
 */
export function rejectPending(
  tx: Executor,
  { teamId, app, now }: { teamId: string; app: string; now: number },
  { by, reason }: Pick<Decided, 'by' | 'reason'>,
): Promise<number> {
  const grants = isUuid(app) ? 'grant_id = ?' : 'grant_id in (select id from oauth_grants where client_id = ?)';
  return tx.run(
    `update approvals set status = 'rejected', decided_by_kind = ?, decided_by_name = ?, reason = ?, decided_at = ?
      where team_id = ? and status = 'pending' and expires_at > ? and (client_name = ? or ${grants})`,
    [by.kind, by.name, reason, now, teamId, now, app, isUuid(app) ? app.toLowerCase() : app],
  );
}

export const noteEnd = (
  tx: Executor,
  id: string,
  { result, error, broadcastId }: { result: string | null; error: string | null; broadcastId: string | null },
): Promise<number> =>
  tx.run(
    `update approvals set status = ?, result = ?, error = ?, broadcast_id = coalesce(broadcast_id, ?)
      where id = ? and status = 'running'`,
    [error === null ? 'done' : 'failed', result, error, broadcastId, id],
  );

/** Expires all pending approvals in a restored copy, because the original may have run the calls since. */
export const expireAll = (tx: Executor): Promise<number> =>
  tx.run(`update approvals set status = 'expired' where status = 'pending'`);

export const removeApprovalsBefore = (db: Executor, before: number): Promise<number> =>
  db.run('delete from approvals where created_at <= ?', [before]);
