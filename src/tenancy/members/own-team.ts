import type { Role } from '../../contract/index.ts';
import type { Executor } from '../../platform/db/index.ts';
import { notFound, refuse } from '../../platform/refusal/index.ts';
import { lockTeam, type Ctx } from '../access/index.ts';
import { findMemberByUser } from './members.store.ts';

/** A session reaches the team that it is in; every other one answers alike, whether its person is in it or not. */
export function mustBeOwnTeam({ teamId }: Ctx, named: string): void {
  if (named.toLowerCase() !== teamId) throw notFound('Team');
}

/** The account of the session that calls. */
export function callerOf({ actor }: Ctx): string {
  if (actor.kind !== 'session') throw new Error('the people of a team are changed by people who are signed in');
  return actor.userId;
}

/**
 * Locks the team to the end of the transaction and answers the caller's role as it is behind the lock: it may have been
 * taken away since the request was let in.
 */
export async function lockPeople(tx: Executor, ctx: Ctx): Promise<{ userId: string; role: Role }> {
  const userId = callerOf(ctx);
  await lockTeam(tx, ctx.teamId);
  const member = await findMemberByUser(tx, ctx.teamId, userId);
  if (member) return { userId, role: member.role };
  throw refuse('invalid_permission', { say: 'You are not in this team any more.' });
}
