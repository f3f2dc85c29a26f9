import type { Executor } from '../../../platform/db/index.ts';
import { notFound, refuse } from '../../../platform/refusal/index.ts';
import { hashToken } from '../../../platform/secrets/index.ts';
import type { Role } from '../../../contract/index.ts';
import { lockTeam, type UserCtx } from '../../../tenancy/access/index.ts';
import { findAccount, findMemberByUser, insertMember } from '../../../tenancy/members/index.ts';
import { mustHaveUsedPassword, ssoTeamOfSession } from '../../../tenancy/session-rows/index.ts';
import { findTeam } from '../../../tenancy/teams/index.ts';
import { findInvitationByToken, noteAccepted, type InvitationRow } from './invitations.store.ts';

/** The token shows that the mail arrived; the session shows who the caller is. Both must be of the address that was invited. */
export async function acceptInvitation({ store, actor }: UserCtx, token: string) {
  const hash = hashToken(token);
  return store.db.tx(async (tx) => {
    const found = await findInvitationByToken(tx, hash);
    if (!found) throw gone();
    await lockTeam(tx, found.team_id);
    // Behind the lock: it may have been withdrawn, or accepted by another request, meanwhile.
    const invitation = await findInvitationByToken(tx, hash);
    if (!invitation) throw gone();
    await mustBeInvited(tx, invitation, actor.userId);
    const ssoTeamId = await ssoTeamOfSession(tx, actor.sessionId);
    if (ssoTeamId !== invitation.team_id) await mustHaveUsedPassword(tx, actor.sessionId);
    const role = await join(tx, invitation, {
      userId: actor.userId,
      memberId: store.ids.uuid(),
      now: store.clock.now(),
    });
    const team = await findTeam(tx, invitation.team_id);
    if (!team) throw gone();
    return { object: 'invitation' as const, id: invitation.id, team_id: team.id, team_name: team.name, role };
  });
}

async function mustBeInvited(tx: Executor, invitation: InvitationRow, userId: string): Promise<void> {
  const account = await findAccount(tx, userId);
  if (account?.email_key !== invitation.email_key) {
    throw refuse('invalid_permission', {
      say: 'This invitation is for another address; sign in with the address that it was sent to.',
    });
  }
  if (account.email_verified_at === null) {
    throw refuse('invalid_permission', {
      say: 'Verify your address first; the invitation stays open until it expires.',
    });
  }
}

/** The invitation that a token opens: neither accepted nor expired. */
export async function openInvitationOf(db: Executor, token: string, now: number): Promise<InvitationRow> {
  const found = await findInvitationByToken(db, hashToken(token));
  if (!found || found.accepted_at !== null || found.expires_at <= now) throw gone();
  return found;
}

/** For an account that is made in the same transaction, of the address that was invited. */
export async function joinAsNewUser(
  tx: Executor,
  invitation: InvitationRow,
  who: { userId: string; memberId: string; now: number },
): Promise<void> {
  await lockTeam(tx, invitation.team_id);
  const behindLock = await findInvitationByToken(tx, invitation.token_hash);
  if (!behindLock) throw gone();
  await join(tx, behindLock, who);
}

/** Answers the role that the person has in the team: the one that was there before, if any. */
async function join(
  tx: Executor,
  invitation: InvitationRow,
  { userId, memberId, now }: { userId: string; memberId: string; now: number },
): Promise<Role> {
  const { team_id: teamId, role } = invitation;
  const member = await findMemberByUser(tx, teamId, userId);
  if (member) {
    // It must not bring the person back who is removed later, nor give back a role that was taken away.
    if (invitation.accepted_at === null) await noteAccepted(tx, invitation.id, now);
    return member.role;
  }
  if (invitation.accepted_at !== null || invitation.expires_at <= now) throw gone();
  await insertMember(tx, { id: memberId, team_id: teamId, user_id: userId, role, sso_exempt: 0, created_at: now });
  await noteAccepted(tx, invitation.id, now);
  return role;
}

/** Unknown, withdrawn, expired and used are one answer. */
const gone = () => notFound('Invitation');
