import { quietly, textsIn, type Db, type Executor } from '../../platform/db/index.ts';

/** An endpoint as far as sending to it goes. */
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
  attempt_count: number;
  due_at: number;
  created_at: number;
}

/** Endpoints that somebody sends to: of no suspended team, and not another process's at `now`. */
const FREE = `webhooks.deleted_at is null and (lease_owner is null or lease_owner = ? or lease_until <= ?)
  and not exists (select 1 from teams where teams.id = webhooks.team_id and risk_state = 'suspended')`;

/** What is due is found by one step into an index for each endpoint, however much is waiting. */
export async function endpointsWithWork(
  db: Executor,
  { owner, now, limit }: { owner: string; now: number; limit: number },
): Promise<string[]> {
  const rows = await db.all<{ id: string }>(
    `select id from webhooks where ${FREE} and exists
      (select 1 from webhook_events where webhook_id = webhooks.id and due_at is not null and due_at <= ?)
      order by case when lease_owner is null then 0 else 1 end, id limit ?`,
    [owner, now, now, limit],
  );
  return rows.map((row) => row.id);
}

/** When the next event of any endpoint that could be sent to falls due after `now`. */
export async function nextDueAt(db: Executor, { owner, now }: { owner: string; now: number }) {
  const row = await db.get<{ at: number | null }>(
    `select min((select due_at from webhook_events
        where webhook_id = webhooks.id and due_at is not null and due_at > ? order by due_at limit 1)) as at
      from webhooks where ${FREE}`,
    [now, owner, now],
  );
  return row?.at ?? undefined;
}

/** Takes endpoints for `owner`, or keeps them; answers those that it holds now with their teams. A lease that a power cut takes back is no loss. */
export async function leaseEndpoints(
  db: Db,
  ids: readonly string[],
  lease: { owner: string; now: number; until: number },
): Promise<Map<string, string>> {
  const among = textsIn(db.dialect, 'id', ids);
  const sql = quietly(`update webhooks set lease_owner = ?, lease_until = ? where ${among.sql} and deleted_at is null
    and (lease_owner is null or lease_owner = ? or lease_until <= ?) returning id, team_id`);
  const values = [lease.owner, lease.until, among.value, lease.owner, lease.now];
  const rows = await db.txUnsynced((tx) => tx.all<{ id: string; team_id: string }>(sql, values));
  return new Map(rows.map((row) => [row.id, row.team_id]));
}

export function releaseEndpoints(db: Executor, ids: readonly string[], owner: string): Promise<number> {
  const among = textsIn(db.dialect, 'id', ids);
  const sql = quietly(`update webhooks set lease_owner = null, lease_until = null
    where ${among.sql} and lease_owner = ?`);
  return db.run(sql, [among.value, owner]);
}

/** Where there can be no other process, whatever is held was held by one that is gone. */
export const releaseAll = (db: Executor): Promise<number> =>
  db.run('update webhooks set lease_owner = null, lease_until = null where lease_owner is not null');

const ENDPOINT = `select webhooks.id, team_id, endpoint, status, secret_sealed, previous_secret_sealed,
  previous_secret_until, last_success_at, failing_since, risk_state
  from webhooks join teams on teams.id = team_id`;

/** Undefined when it was deleted, or is another's by now. */
export const heldEndpoint = (db: Executor, id: string, owner: string): Promise<EndpointRow | undefined> =>
  db.get<EndpointRow>(`${ENDPOINT} where webhooks.id = ? and deleted_at is null and lease_owner = ?`, [id, owner]);

export interface DueRange {
  now: number;
  after: Pick<DueEvent, 'due_at' | 'event_id'> | undefined;
  limit: number;
}

/** The oldest first, as they fall due; a retry stands in the line where its time has put it. */
export function dueEvents(db: Executor, id: string, { now, after, limit }: DueRange): Promise<DueEvent[]> {
  const beyond = after ? 'and (due_at, event_id) > (?, ?)' : '';
  const sql = `select event_id, type, tries, attempt_count, due_at, created_at from webhook_events
    where webhook_id = ? and due_at is not null and due_at <= ? ${beyond} order by due_at, event_id limit ?`;
  return db.all<DueEvent>(sql, [id, now, ...(after ? [after.due_at, after.event_id] : []), limit]);
}

export interface DisabledEndpoint {
  id: string;
  team_id: string;
  endpoint: string;
  disabled_at: number;
  failing_since: number | null;
  /** A JSON array. */
  admin_emails: string | null;
}

/** Endpoints that were disabled because they failed, and whose team has not been told. */
export const untold = (db: Executor): Promise<DisabledEndpoint[]> =>
  db.all(`select webhooks.id, team_id, endpoint, disabled_at, failing_since, admin_emails
    from webhooks join teams on teams.id = team_id
    where status = 'disabled' and disabled_reason = 'failing' and deleted_at is null
      and (admins_told_at is null or admins_told_at < disabled_at) order by webhooks.id limit 100`);

export const noteTold = (db: Executor, id: string, now: number): Promise<number> =>
  db.run('update webhooks set admins_told_at = ? where id = ?', [now, id]);

/** Whether nothing has succeeded since `before` although it was tried. */
export const isFailingSince = async (db: Executor, id: string, before: number): Promise<boolean> =>
  (await db.get('select 1 as one from webhooks where id = ? and failing_since <= ?', [id, before])) !== undefined;

export async function failingSinceBefore(db: Executor, before: number): Promise<string[]> {
  const sql = `select id from webhooks where failing_since <= ? and status = 'enabled' and deleted_at is null
    order by id limit 100`;
  return (await db.all<{ id: string }>(sql, [before])).map((row) => row.id);
}
