import type { Executor } from '../../platform/db/index.ts';

/** The domain that mail to a team about itself comes from: of the team's own, the one verified longest. */
export async function senderDomain(db: Executor, teamId: string): Promise<string | undefined> {
  const sql = `select name from domains where team_id = ? and verified_at is not null and sending = 'enabled'
    order by verified_at, id limit 1`;
  return (await db.get<{ name: string }>(sql, [teamId]))?.name;
}
