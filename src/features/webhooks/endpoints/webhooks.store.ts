import {
  cutPage,
  pageSql,
  pageValues,
  withoutCommitNotice,
  textsIn,
  type Executor,
  type Page,
  type Db,
} from '../../../platform/db/index.ts';
import type { Leases } from '../../../platform/work-loop/index.ts';

export interface WebhookRow {
  id: string;
  team_id: string;
  endpoint: string;
  /** JSON array of event types. */
  events: string;
  status: 'enabled' | 'disabled';
  secret_sealed: string;
  previous_secret_sealed: string | null;
  previous_secret_until: number | null;
  created_at: number;
  disabled_at: number | null;
  disabled_reason: 'manual' | 'failing' | null;
  failing_since: number | null;
  last_attempt_at: number | null;
  last_http_status: number | null;
  last_error: string | null;
}

const COLUMNS = [
  'id',
  'team_id',
  'endpoint',
  'events',
  'status',
  'secret_sealed',
  'previous_secret_sealed',
  'previous_secret_until',
  'created_at',
  'disabled_at',
  'disabled_reason',
  'failing_since',
  'last_attempt_at',
  'last_http_status',
  'last_error',
] as const;
const SELECTED = COLUMNS.join(', ');

export async function insertWebhook(tx: Executor, row: WebhookRow): Promise<void> {
  await tx.insertMany('webhooks', COLUMNS, [COLUMNS.map((column) => row[column])]);
}

export async function countWebhooks(db: Executor, teamId: string): Promise<number> {
  const sql = 'select count(*) as n from webhooks where team_id = ? and deleted_at is null';
  return (await db.get<{ n: number }>(sql, [teamId]))?.n ?? 0;
}

export async function listWebhookRows(
  db: Executor,
  { teamId, status }: { teamId: string; status?: WebhookRow['status'] | undefined },
  page: Page,
): Promise<{ rows: WebhookRow[]; hasMore: boolean }> {
  const narrowed = status === undefined ? { sql: '', values: [] } : { sql: 'and status = ?', values: [status] };
  const sql = pageSql('webhooks', `team_id = ? and deleted_at is null ${narrowed.sql}`, page, SELECTED);
  return cutPage(await db.all<WebhookRow>(sql, [teamId, ...narrowed.values, ...pageValues(page)]), page);
}

const OWN = `select ${SELECTED} from webhooks where team_id = ? and id = ? and deleted_at is null`;

export const findWebhook = (db: Executor, teamId: string, id: string): Promise<WebhookRow | undefined> =>
  db.get<WebhookRow>(OWN, [teamId, id]);

/** Does the same and locks the row until the transaction ends. */
export const lockWebhook = (tx: Executor, teamId: string, id: string): Promise<WebhookRow | undefined> =>
  tx.get<WebhookRow>(tx.dialect === 'pg' ? `${OWN} for no key update` : OWN, [teamId, id]);

interface WebhookChange {
  endpoint: string;
  events: string;
}

/** Saves settings. A new address has not responded yet, so its five days start over. */
export async function saveSettings(tx: Executor, id: string, { endpoint, events }: WebhookChange): Promise<void> {
  const kept = ['failing_since', 'last_attempt_at', 'last_http_status', 'last_error'];
  const sql = `update webhooks set ${kept.map((column) => `${column} = case when endpoint = ? then ${column} end`).join(', ')},
    endpoint = ?, events = ? where id = ?`;
  await tx.run(sql, [...kept.map(() => endpoint), endpoint, events, id]);
}

export async function setSecret(
  tx: Executor,
  id: string,
  secret: { sealed: string; previous: string; previousUntil: number },
): Promise<void> {
  const sql = `update webhooks set secret_sealed = ?, previous_secret_sealed = ?, previous_secret_until = ? where id = ?`;
  await tx.run(sql, [secret.sealed, secret.previous, secret.previousUntil, id]);
}

/**
 * Disables an endpoint; returns whether this call did so. One that is deleted or disabled already is left unchanged.
 */
export async function setDisabled(
  db: Executor,
  id: string,
  { reason, now }: { reason: 'manual' | 'failing'; now: number },
): Promise<boolean> {
  const sql = `update webhooks set status = 'disabled', disabled_at = ?, disabled_reason = ?
    where id = ? and status = 'enabled' and deleted_at is null`;
  return (await db.run(sql, [now, reason, id])) === 1;
}

export async function setEnabled(tx: Executor, id: string): Promise<void> {
  const sql = `update webhooks set status = 'enabled', disabled_at = null, disabled_reason = null, failing_since = null
    where id = ?`;
  await tx.run(sql, [id]);
}

/** Marks an endpoint as deleted; returns whether it existed. */
export async function markDeleted(db: Executor, teamId: string, id: string, now: number): Promise<boolean> {
  const sql = 'update webhooks set deleted_at = ? where team_id = ? and id = ? and deleted_at is null';
  return (await db.run(sql, [now, teamId, id])) === 1;
}

/** Records that the admins of the team were notified that it was disabled, or that there were none. */
export const noteNotified = (db: Executor, id: string, now: number): Promise<number> =>
  db.run('update webhooks set admins_told_at = ? where id = ?', [now, id]);

/**
 * Leases endpoints for `owner`, or renews the leases; returns those that it owns now. A lease lost in a power cut does
 * no harm.
 */
export async function leaseEndpoints(
  db: Db,
  ids: readonly string[],
  lease: { owner: string; now: number; until: number },
): Promise<Set<string>> {
  if (ids.length === 0) return new Set();
  const among = textsIn(db.dialect, 'id', ids);
  // Everyone who changes several endpoints locks them in the same order, to avoid deadlocks.
  const inOrder = db.dialect === 'pg' ? 'order by id for no key update' : '';
  const sql = withoutCommitNotice(`update webhooks set lease_owner = ?, lease_until = ? where id in
    (select id from webhooks where ${among.sql} and deleted_at is null
      and (lease_owner is null or lease_owner = ? or lease_until <= ?) ${inOrder}) returning id`);
  const values = [lease.owner, lease.until, among.value, lease.owner, lease.now];
  const rows = await db.txUnsynced((tx) => tx.all<{ id: string }>(sql, values));
  return new Set(rows.map((row) => row.id));
}

export const endpointLeases = (db: Db): Leases => ({
  renew: (ids, lease) => leaseEndpoints(db, ids, lease),
  release: (id, owner) =>
    db.run(
      withoutCommitNotice(
        'update webhooks set lease_owner = null, lease_until = null where id = ? and lease_owner = ?',
      ),
      [id, owner],
    ),
  releaseAll: () => db.run('update webhooks set lease_owner = null, lease_until = null where lease_owner is not null'),
});
