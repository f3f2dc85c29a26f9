import type { Executor } from '../../../platform/db/index.ts';

/** Columns of an endpoint that sending needs. */
export interface EndpointRow {
  id: string;
  team_id: string;
  endpoint: string;
  status: 'enabled' | 'disabled';
  secret_sealed: string;
  previous_secret_sealed: string | null;
  previous_secret_until: number | null;
  last_success_at: number | null;
  failing_since: number | null;
  risk_state: 'normal' | 'suspended';
}

export interface DueEvent {
  event_id: string;
  type: string;
  tries: number;
  due_at: number;
  created_at: number;
  is_bulk: 0 | 1;
}

/** Matches endpoints that this process may lease at `now`: of no suspended team, and not leased by another process. */
const FREE = `webhooks.deleted_at is null and (lease_owner is null or lease_owner = ? or lease_until <= ?)
  and not exists (select 1 from teams where teams.id = webhooks.team_id and risk_state = 'suspended')`;

/** Returns the endpoints with due events: one index lookup for each, however many events are waiting. */
export async function endpointsWithWork(
  db: Executor,
  { owner, now, limit }: { owner: string; now: number; limit: number },
): Promise<string[]> {
  const rows = await db.all<{ id: string }>(
    `select id from webhooks where ${FREE} and exists
      (select 1 from webhook_events
        where webhook_id = webhooks.id and is_bulk in (0, 1) and due_at is not null and due_at <= ?)
      order by case when lease_owner is null then 0 else 1 end, id limit ?`,
    [owner, now, now, limit],
  );
  return rows.map((row) => row.id);
}

/** Returns when the next event falls due after `now`, among all endpoints that this process may lease. */
export async function nextDueAt(db: Executor, { owner, now }: { owner: string; now: number }) {
  const row = await db.get<{ at: number | null }>(
    `select min((select due_at from webhook_events where webhook_id = webhooks.id and is_bulk = kinds.is_bulk
        and due_at is not null and due_at > ? order by due_at limit 1)) as at
      from webhooks, (select 0 as is_bulk union all select 1) as kinds where ${FREE}`,
    [now, owner, now],
  );
  return row?.at ?? undefined;
}

const ENDPOINT = `select webhooks.id, team_id, endpoint, status, secret_sealed, previous_secret_sealed,
  previous_secret_until, last_success_at, failing_since, risk_state
  from webhooks join teams on teams.id = team_id`;

/** Returns the endpoint; undefined if it was deleted, or is leased by another process by now. */
export const ownedEndpoint = (db: Executor, id: string, owner: string): Promise<EndpointRow | undefined> =>
  db.get<EndpointRow>(`${ENDPOINT} where webhooks.id = ? and deleted_at is null and lease_owner = ?`, [id, owner]);

/** Lists due events of one kind in the order in which they fell due; a retry counts by its new time. */
export function dueEvents(
  db: Executor,
  id: string,
  { isBulk, now, limit }: { isBulk: boolean; now: number; limit: number },
): Promise<DueEvent[]> {
  const sql = `select event_id, type, tries, due_at, created_at, is_bulk from webhook_events
    where webhook_id = ? and is_bulk = ? and due_at is not null and due_at <= ? order by due_at, event_id limit ?`;
  return db.all<DueEvent>(sql, [id, isBulk ? 1 : 0, now, limit]);
}

/** Returns enabled endpoints, or only one, that have been failing without a success since `before`. */
export async function failingSinceBefore(db: Executor, before: number, only?: string): Promise<string[]> {
  const sql = `select id from webhooks where failing_since <= ? and status = 'enabled' and deleted_at is null
    ${only === undefined ? '' : 'and id = ?'} order by id limit 100`;
  const rows = await db.all<{ id: string }>(sql, only === undefined ? [before] : [before, only]);
  return rows.map((row) => row.id);
}

export interface DisabledEndpoint {
  id: string;
  team_id: string;
  endpoint: string;
  disabled_at: number;
  failing_since: number | null;
  /** JSON array of addresses. */
  admin_emails: string | null;
}

/** Lists endpoints that were disabled because they failed, and whose team has not been notified. */
export const untold = (db: Executor): Promise<DisabledEndpoint[]> =>
  db.all(`select webhooks.id, team_id, endpoint, disabled_at, failing_since, admin_emails
    from webhooks join teams on teams.id = team_id
    where status = 'disabled' and disabled_reason = 'failing' and deleted_at is null
      and (admins_told_at is null or admins_told_at < disabled_at) order by webhooks.id limit 100`);
