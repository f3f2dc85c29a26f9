import { ROLES, type Role, type UpdateTeamMemberRequest } from '../../contract/index.ts';
import type { Executor } from '../../platform/db/index.ts';
import { notFound, refuse } from '../../platform/refusal/index.ts';
import type { Store } from '../../platform/store/index.ts';
import type { Ctx } from '../access/index.ts';
import { endSessionsInTeam, endSsoSessions } from '../session-rows/index.ts';
import { findConnection, identityOfUser, insertIdentity, isEnforced } from '../sso-rows/index.ts';
import {
  countExemptOwners,
  findMember,
  hasOtherOwner,
  removeMemberRow,
  setExempt,
  setRole,
  type MemberRow,
} from './members.store.ts';
import { lockPeople, mustBeOwnTeam } from './own-team.ts';
import { presentMember } from './read-members.ts';
import { mustRule, ROLE_RULES } from './role-rules.ts';
import { withdrawInvitationsOf, withdrawInvitationsTo } from './sent-invitations.store.ts';

export async function updateTeamMember(
  ctx: Ctx,
  place: { teamId: string; memberId: string },
  change: UpdateTeamMemberRequest,
) {
  mustBeOwnTeam(ctx, place.teamId);
  return ctx.store.db.tx(async (tx) => {
    const caller = await lockPeople(tx, ctx);
    const member = await findMember(tx, ctx.teamId, place.memberId);
    if (!member) throw notFound('Member');
    const { role = member.role, sso_exempt: isExempt = member.sso_exempt === 1 } = change;
    const after = { ...member, role, sso_exempt: isExempt ? 1 : 0 };
    if (change.role !== undefined) mustRule(caller.role, 'change', [member.role, role]);
    if (change.sso_exempt !== undefined) mustBeOwner(caller.role);
    if (member.role === 'owner' && role !== 'owner') await mustNotBeLastOwner(tx, member);
    if (after.sso_exempt !== member.sso_exempt) await setExempt(tx, member.id, after.sso_exempt);
    if (role !== member.role) await setRole(tx, member.id, role);
    if (isWayIn(member) && !isWayIn(after)) await mustLeaveAWayIn(tx, member);
    if (ROLES.indexOf(role) < ROLES.indexOf(member.role)) await endWhatItGave(tx, member, role);
    return presentMember(after);
  });
}

function mustBeOwner(role: Role): void {
  if (role === 'owner') return;
  throw refuse('invalid_permission', { say: 'Only an owner says who is exempt from single sign-on.' });
}

/** Ends what apps may do for a person in the team; the module of it stands above this one. */
export type EndGrants = (tx: Executor, member: Pick<MemberRow, 'id' | 'user_id'>, at: number) => Promise<void>;

/** Everybody may leave, whatever the role. */
export async function removeTeamMember(ctx: Ctx, place: { teamId: string; memberId: string }, endGrants: EndGrants) {
  mustBeOwnTeam(ctx, place.teamId);
  return ctx.store.db.tx(async (tx) => {
    const caller = await lockPeople(tx, ctx);
    const member = await findMember(tx, ctx.teamId, place.memberId);
    if (!member) throw notFound('Member');
    if (member.user_id !== caller.userId) mustRule(caller.role, 'remove', [member.role]);
    if (member.role === 'owner') await mustNotBeLastOwner(tx, member);
    await removeMemberRow(tx, member.id);
    if (isWayIn(member)) await mustLeaveAWayIn(tx, member);
    await endWhatItGave(tx, member, null);
    await endSsoSessions(tx, member.team_id, member.user_id);
    await endGrants(tx, member, ctx.store.clock.now());
    await keepOut(tx, ctx.store, member);
    return { object: 'team_member' as const, id: member.id, deleted: true as const };
  });
}

/** The team is locked: of two owners who step down at once, the second one is the last. */
async function mustNotBeLastOwner(tx: Executor, member: MemberRow): Promise<void> {
  if (await hasOtherOwner(tx, member)) return;
  throw refuse('resource_locked', {
    say: 'This is the last owner of the team who can sign in; make another person an owner first.',
  });
}

const isWayIn = (member: Pick<MemberRow, 'role' | 'sso_exempt'>): boolean =>
  member.role === 'owner' && member.sso_exempt === 1;

/** Asked behind the change: what is left must be able to sign in when the provider does not answer. */
async function mustLeaveAWayIn(tx: Executor, { team_id: teamId }: MemberRow): Promise<void> {
  if (!(await isEnforced(tx, teamId)) || (await countExemptOwners(tx, teamId)) > 0) return;
  throw refuse('resource_locked', {
    say: 'This is the last owner who signs in with a password, and the team enforces single sign-on; exempt another owner first, or stop enforcing it.',
  });
}

/** A removed member does not come back by signing in through the provider; an invitation brings the person back. */
async function keepOut(tx: Executor, { clock, ids }: Store, { team_id: teamId, user_id: userId }: MemberRow) {
  const connection = await findConnection(tx, teamId);
  if (!connection || (await identityOfUser(tx, connection.id, userId))) return;
  const known = { connection_id: connection.id, user_id: userId, subject: null };
  await insertIdentity(tx, { id: ids.uuid(), ...known, created_at: clock.now() });
}

/** What the role that a person had has opened: sessions in the team, invitations that only that role sends, and one to the person. */
async function endWhatItGave(tx: Executor, member: MemberRow, left: Role | null): Promise<void> {
  const { user_id: userId, team_id: teamId } = member;
  await endSessionsInTeam(tx, { userId, teamId });
  await withdrawInvitationsOf(tx, { userId, teamId }, left === null ? [] : ROLE_RULES[left].invite);
  await withdrawInvitationsTo(tx, { userId, teamId });
}
