import type { Executor } from '../../platform/db/index.ts';

/** The history of removed emails; answers how many events it had. */
export function removeEventsOf(tx: Executor, emailIds: readonly string[]): Promise<number> {
  return tx.dialect === 'pg'
    ? tx.run('delete from events where subject_id = any(?::text[])', [`{${emailIds.join(',')}}`])
    : tx.run('delete from events where subject_id in (select value from json_each(?))', [JSON.stringify(emailIds)]);
}

/** What no email tells: of domains, of suppressions. The condition on the type is that of the index, word for word. */
export function removeOtherEvents(
  db: Executor,
  { teamId, beforeId }: { teamId: string; beforeId: string },
  limit: number,
): Promise<number> {
  const sql = `delete from events where id in (select id from events
    where team_id = ? and id < ? and substr(type, 1, 6) <> 'email.' order by id limit ?)`;
  return db.run(sql, [teamId, beforeId, limit]);
}
