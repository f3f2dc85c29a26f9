import type { Executor } from '../../platform/db/index.ts';

/** What a person has open in a team ends; sessions in other teams go on. Answers how many ended. */
export const endSessionsInTeam = (tx: Executor, { userId, teamId }: { userId: string; teamId: string }) =>
  tx.run('delete from sessions where user_id = ? and current_team_id = ?', [userId, teamId]);

/** Answers whether there is such a session still. */
export const moveSession = async (
  tx: Executor,
  { sessionId, userId, teamId }: { sessionId: string; userId: string; teamId: string },
): Promise<boolean> => {
  const sql = 'update sessions set current_team_id = ? where id = ? and user_id = ?';
  return (await tx.run(sql, [teamId, sessionId, userId])) === 1;
};
