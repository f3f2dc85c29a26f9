import type { Executor } from '../../../platform/db/index.ts';

/** Old enough, and nothing is to come of it: a replay may have made an old event due again. */
const EXPIRED = 'event_id < t.before_id and due_at is null';

/** Of these teams, those that have webhook events or bodies past their time. */
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

export async function webhooksOf(db: Executor, teamId: string): Promise<string[]> {
  const rows = await db.all<{ id: string }>('select id from webhooks where team_id = ? order by id', [teamId]);
  return rows.map((row) => row.id);
}

export async function deletedWebhooks(db: Executor): Promise<string[]> {
  const sql = 'select id from webhooks where deleted_at is not null order by id';
  return (await db.all<{ id: string }>(sql)).map((row) => row.id);
}

/** Endpoints whose disabling was interrupted before everything was parked. */
export async function halfParkedWebhooks(db: Executor): Promise<string[]> {
  const sql = `select id from webhooks where status = 'disabled' and deleted_at is null
    and exists (select 1 from webhook_events where webhook_id = webhooks.id and due_at is not null)`;
  return (await db.all<{ id: string }>(sql)).map((row) => row.id);
}
