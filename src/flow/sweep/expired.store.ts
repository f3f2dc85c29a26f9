import { uuidsIn, type Executor } from '../../platform/db/index.ts';
import type { Expiry } from './expiries.ts';

/** Of these teams, those that have anything that has expired, even if it is only what has to stay. */
export async function teamsWithExpired(db: Executor, expiries: readonly Expiry[]): Promise<string[]> {
  const list = expiries.map(({ teamId, beforeId }) => ({ team: teamId, before_id: beforeId }));
  const rows = await db.all<{ team: string }>(
    `select t.team from ${db.dialect === 'pg' ? TEAMS_ON_PG : TEAMS_ON_SQLITE} as t
      where exists (select 1 from emails where team_id = t.team and id < t.before_id)
        or exists (select 1 from events
          where team_id = t.team and id < t.before_id and substr(type, 1, 6) <> 'email.')
        or exists (select 1 from playground_messages where team_id = t.team and id < t.before_id)`,
    [JSON.stringify(list)],
  );
  return rows.map((row) => row.team);
}

const TEAMS_ON_PG = '(select * from jsonb_to_recordset(?::jsonb) as r(team uuid, before_id uuid))';
const TEAMS_ON_SQLITE = `(select json_extract(value, '$.team') as team,
  json_extract(value, '$.before_id') as before_id from json_each(?))`;

/** Asks no table but the index, so that a walk past what has to stay costs little. */
export async function expiredEmailIds(db: Executor, expiry: Expiry, afterId: string, limit: number): Promise<string[]> {
  const sql = 'select id from emails where team_id = ? and id > ? and id < ? order by id limit ?';
  return (await db.all<{ id: string }>(sql, [expiry.teamId, afterId, expiry.beforeId, limit])).map((row) => row.id);
}

/**
 * Whether an email is done with is decided here, within the transaction that removes it: nothing that waits, is under
 * way or in doubt has ever lost its delivery, and what was scheduled grows old from the time it was scheduled for.
 */
const IS_OVER = `last_event not in ('queued', 'scheduled')
  and (scheduled_at is null or scheduled_at < ? or last_event = 'canceled')
  and not exists (select 1 from deliveries where deliveries.email_id = emails.id)`;

/** Answers the emails that went, with whether the blob store has something of theirs. */
export async function removeEmailRows(
  tx: Executor,
  expiry: Expiry,
  ids: readonly string[],
): Promise<{ id: string; hasBlobs: boolean }[]> {
  const among = uuidsIn(tx.dialect, 'id', ids);
  const sql = `delete from emails where ${among.sql} and ${IS_OVER} returning id, attachment_count`;
  const removed = await tx.all<{ id: string; attachment_count: number }>(sql, [among.value, expiry.beforeMs]);
  if (removed.length === 0) return [];
  const gone = removed.map((row) => row.id);
  const theirs = uuidsIn(tx.dialect, 'email_id', gone);
  const bodies = await tx.all<{ email_id: string; blobs: number }>(
    `delete from email_bodies where ${theirs.sql} returning email_id, html_in_blob + text_in_blob as blobs`,
    [theirs.value],
  );
  await tx.run(`delete from email_attachments where ${theirs.sql}`, [theirs.value]);
  const inBlobs = new Set(bodies.filter((row) => row.blobs > 0).map((row) => row.email_id));
  return removed.map((row) => ({ id: row.id, hasBlobs: row.attachment_count > 0 || inBlobs.has(row.id) }));
}

/** The history of removed emails; answers how many events it had. */
export function removeEventsOf(tx: Executor, emailIds: readonly string[]): Promise<number> {
  return tx.dialect === 'pg'
    ? tx.run('delete from events where subject_id = any(?::text[])', [`{${emailIds.join(',')}}`])
    : tx.run('delete from events where subject_id in (select value from json_each(?))', [JSON.stringify(emailIds)]);
}

/** What no email tells: of domains, of suppressions. The condition on the type is that of the index, word for word. */
export function removeOtherEvents(db: Executor, expiry: Expiry, limit: number): Promise<number> {
  const sql = `delete from events where id in (select id from events
    where team_id = ? and id < ? and substr(type, 1, 6) <> 'email.' order by id limit ?)`;
  return db.run(sql, [expiry.teamId, expiry.beforeId, limit]);
}

/** What the development profile caught; answers the ids, which are the owners of its blobs. */
export async function removeCaught(db: Executor, expiry: Expiry, limit: number): Promise<string[]> {
  const sql = `delete from playground_messages where id in (select id from playground_messages
    where team_id = ? and id < ? order by id limit ?) returning id`;
  return (await db.all<{ id: string }>(sql, [expiry.teamId, expiry.beforeId, limit])).map((row) => row.id);
}
