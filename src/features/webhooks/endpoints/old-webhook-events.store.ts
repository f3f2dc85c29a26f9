import { uuidsIn, type Executor } from '../../../platform/db/index.ts';

/** Matches events past retention that are not due: a replay may have made an old event due again. */
const EXPIRED = 'event_id < t.before_id and due_at is null';

/** Returns those of the given teams that have webhook events or bodies past their retention. */
export async function teamsWithOldWebhookEvents(
  db: Executor,
  expiries: readonly { teamId: string; beforeId: string }[],
): Promise<string[]> {
  const list = expiries.map(({ teamId, beforeId }) => ({ team: teamId, before_id: beforeId }));
  const rows = await db.all<{ team: string }>(
    `select t.team from ${db.dialect === 'pg' ? TEAMS_ON_PG : TEAMS_ON_SQLITE} as t
      where exists (select 1 from webhook_payloads where team_id = t.team and event_id < t.before_id)
        or exists (select 1 from webhooks where team_id = t.team
          and exists (select 1 from webhook_events where webhook_id = webhooks.id and ${EXPIRED}))`,
    [JSON.stringify(list)],
  );
  return rows.map((row) => row.team);
}

const TEAMS_ON_PG = '(select * from jsonb_to_recordset(?::jsonb) as r(team uuid, before_id uuid))';
const TEAMS_ON_SQLITE = `(select json_extract(value, '$.team') as team,
  json_extract(value, '$.before_id') as before_id from json_each(?))`;

export async function listWebhookIds(db: Executor, teamId: string): Promise<string[]> {
  const rows = await db.all<{ id: string }>('select id from webhooks where team_id = ? order by id', [teamId]);
  return rows.map((row) => row.id);
}

export async function deletedWebhooks(db: Executor): Promise<string[]> {
  const sql = 'select id from webhooks where deleted_at is not null order by id';
  return (await db.all<{ id: string }>(sql)).map((row) => row.id);
}

/** Lists endpoints whose disabling was interrupted before all their events were paused. */
export async function halfParkedWebhooks(db: Executor): Promise<string[]> {
  const sql = `select id from webhooks where status = 'disabled' and deleted_at is null
    and exists (select 1 from webhook_events where webhook_id = webhooks.id and due_at is not null)`;
  return (await db.all<{ id: string }>(sql)).map((row) => row.id);
}

/** Removes the events of an endpoint older than `beforeId`, or all of them, oldest first; returns how many. */
export async function removeWebhookEvents(
  tx: Executor,
  webhookId: string,
  { beforeId, limit }: { beforeId: string | undefined; limit: number },
): Promise<number> {
  // The statement checks again whether an event is due, because a replay may come in between.
  const isOver = beforeId === undefined ? '' : 'and event_id < ? and due_at is null';
  const values = beforeId === undefined ? [webhookId] : [webhookId, beforeId];
  const rows = await tx.all<{ event_id: string }>(
    `delete from webhook_events where webhook_id = ? ${isOver} and event_id in
      (select event_id from webhook_events where webhook_id = ? ${isOver} order by event_id limit ?)
      returning event_id`,
    [...values, ...values, limit],
  );
  if (rows.length === 0) return 0;
  const theirs = uuidsIn(
    tx.dialect,
    'event_id',
    rows.map((row) => row.event_id),
  );
  await tx.run(`delete from webhook_attempts where webhook_id = ? and ${theirs.sql}`, [webhookId, theirs.value]);
  return rows.length;
}

/** Removes bodies for which no endpoint of the team has an event any more. */
export function removePayloads(
  db: Executor,
  { teamId, beforeId }: { teamId: string; beforeId: string },
  limit: number,
): Promise<number> {
  const unused = `select event_id from webhook_payloads as p where team_id = ? and event_id < ?
    and not exists (select 1 from webhooks join webhook_events as e
      on e.webhook_id = webhooks.id and e.event_id = p.event_id where webhooks.team_id = p.team_id)
    order by event_id limit ?`;
  const sql = `delete from webhook_payloads where team_id = ? and event_id in (${unused})`;
  return db.run(sql, [teamId, teamId, beforeId, limit]);
}

/** Removes the endpoint itself last, and not before `deletedBefore`. */
export async function removeEmptyWebhook(db: Executor, id: string, deletedBefore: number): Promise<boolean> {
  const sql = `delete from webhooks where id = ? and deleted_at < ?
    and not exists (select 1 from webhook_events where webhook_id = webhooks.id)`;
  return (await db.run(sql, [id, deletedBefore])) === 1;
}
