import { ROLES, type Role } from '../../contract/index.ts';
import type { Executor } from '../../platform/db/index.ts';
import { notFound, refuse } from '../../platform/refusal/index.ts';
import type { Ctx } from '../access/index.ts';
import { endSessionsInTeam } from '../session-rows/index.ts';
import { countOwners, findMember, removeMemberRow, setRole, type MemberRow } from './members.store.ts';
import { lockPeople, mustBeOwnTeam } from './own-team.ts';
import { presentMember } from './read-members.ts';
import { mustRule, ROLE_RULES } from './role-rules.ts';
import { withdrawInvitationsOf, withdrawInvitationsTo } from './sent-invitations.store.ts';

export async function updateTeamMember(ctx: Ctx, place: { teamId: string; memberId: string }, role: Role) {
  mustBeOwnTeam(ctx, place.teamId);
  return ctx.store.db.tx(async (tx) => {
    const caller = await lockPeople(tx, ctx);
    const member = await findMember(tx, ctx.teamId, place.memberId);
    if (!member) throw notFound('Member');
    mustRule(caller.role, 'change', [member.role, role]);
    if (member.role === role) return presentMember(member);
    if (member.role === 'owner') await mustNotBeLastOwner(tx, member);
    await setRole(tx, member.id, role);
    if (ROLES.indexOf(role) < ROLES.indexOf(member.role)) await endWhatItGave(tx, member, role);
    return presentMember({ ...member, role });
  });
}

/** Everybody may leave, whatever the role. */
export async function removeTeamMember(ctx: Ctx, place: { teamId: string; memberId: string }) {
  mustBeOwnTeam(ctx, place.teamId);
  return ctx.store.db.tx(async (tx) => {
    const caller = await lockPeople(tx, ctx);
    const member = await findMember(tx, ctx.teamId, place.memberId);
    if (!member) throw notFound('Member');
    if (member.user_id !== caller.userId) mustRule(caller.role, 'remove', [member.role]);
    if (member.role === 'owner') await mustNotBeLastOwner(tx, member);
    await removeMemberRow(tx, member.id);
    await endWhatItGave(tx, member, null);
    return { object: 'team_member' as const, id: member.id, deleted: true as const };
  });
}

/** The team is locked: of two owners who step down at once, the second one is the last. */
async function mustNotBeLastOwner(tx: Executor, { team_id: teamId }: MemberRow): Promise<void> {
  if ((await countOwners(tx, teamId)) > 1) return;
  throw refuse('resource_locked', {
    say: 'This is the last owner of the team; make another person an owner first.',
  });
}

/** What the role that a person had has opened: sessions in the team, invitations that only that role sends, and one to the person. */
async function endWhatItGave(tx: Executor, member: MemberRow, left: Role | null): Promise<void> {
  const { user_id: userId, team_id: teamId } = member;
  await endSessionsInTeam(tx, { userId, teamId });
  await withdrawInvitationsOf(tx, { userId, teamId }, left === null ? [] : ROLE_RULES[left].invite);
  await withdrawInvitationsTo(tx, { userId, teamId });
}
