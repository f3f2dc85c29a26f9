import { ROLES, type Role } from '../../contract/index.ts';
import { textsIn, type Executor } from '../../platform/db/index.ts';

/** The open ones that a person has sent in a team, but for those to the roles that are `kept`. */
export function withdrawInvitationsOf(
  tx: Executor,
  { userId, teamId }: { userId: string; teamId: string },
  kept: readonly Role[],
): Promise<number> {
  const gone = textsIn(
    tx.dialect,
    'role',
    ROLES.filter((role) => !kept.includes(role)),
  );
  const sql = `delete from team_invitations where team_id = ? and invited_by = ? and accepted_at is null and ${gone.sql}`;
  return tx.run(sql, [teamId, userId, gone.value]);
}

/** The open ones that a person has sent in all teams; answers how many there were. */
export const withdrawAllInvitationsOf = (tx: Executor, userId: string): Promise<number> =>
  tx.run('delete from team_invitations where invited_by = ? and accepted_at is null', [userId]);

/** The open ones to a person who is, or was, in the team. */
export const withdrawInvitationsTo = (
  tx: Executor,
  { userId, teamId }: { userId: string; teamId: string },
): Promise<number> =>
  tx.run(
    `delete from team_invitations where team_id = ? and accepted_at is null
      and email_key = (select email_key from users where id = ?)`,
    [teamId, userId],
  );
