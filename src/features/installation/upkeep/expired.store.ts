import type { Executor } from '../../../platform/db/index.ts';
import type { Expiry } from './expiries.ts';

/** Returns those of the given teams that have anything expired, even if it all has to stay. */
export async function teamsWithExpired(db: Executor, expiries: readonly Expiry[]): Promise<string[]> {
  const list = expiries.map(({ teamId, beforeId, beforeMs }) => ({
    team: teamId,
    before_id: beforeId,
    before_ms: beforeMs,
  }));
  const rows = await db.all<{ team: string }>(
    `select t.team from ${db.dialect === 'pg' ? TEAMS_ON_PG : TEAMS_ON_SQLITE} as t
      where exists (select 1 from emails where team_id = t.team and id < t.before_id)
        or exists (select 1 from events
          where team_id = t.team and id < t.before_id and substr(type, 1, 6) <> 'email.')
        or exists (select 1 from received_emails where team_id = t.team and id < t.before_id)
        or exists (select 1 from playground_messages where team_id = t.team and id < t.before_id)
        or exists (select 1 from automation_runs where team_id = t.team and completed_at is not null
          and completed_at < t.before_ms)
        or exists (select 1 from contact_history where team_id = t.team and id < t.before_id)
        or exists (select 1 from broadcasts where team_id = t.team and updated_at < t.before_ms
          and body_id is not null and status in ('sent', 'canceled', 'failed'))
        or exists (select 1 from shared_bodies where team_id = t.team and last_email_id < t.before_id)`,
    [JSON.stringify(list)],
  );
  return rows.map((row) => row.team);
}

const TEAMS_ON_PG = '(select * from jsonb_to_recordset(?::jsonb) as r(team uuid, before_id uuid, before_ms bigint))';
const TEAMS_ON_SQLITE = `(select json_extract(value, '$.team') as team,
  json_extract(value, '$.before_id') as before_id, json_extract(value, '$.before_ms') as before_ms from json_each(?))`;

/** Reads only the index, so that a walk past emails that have to stay costs little. */
export async function expiredEmailIds(db: Executor, expiry: Expiry, afterId: string, limit: number): Promise<string[]> {
  const sql = 'select id from emails where team_id = ? and id > ? and id < ? order by id limit ?';
  return (await db.all<{ id: string }>(sql, [expiry.teamId, afterId, expiry.beforeId, limit])).map((row) => row.id);
}
