import { ROLES, type Role, type UpdateTeamMemberRequest } from '../../contract/index.ts';
import type { Executor, Page } from '../../platform/db/index.ts';
import { notFound, refuse } from '../../platform/refusal.ts';
import type { Store } from '../../platform/store.ts';
import { lockTeam, type Ctx } from '../access/index.ts';
import { endSessionsInTeam, endSsoSessions } from '../session-rows/index.ts';
import { findConnection, identityOfUser, insertIdentity, isEnforced } from '../sso-rows/index.ts';
import {
  countExemptOwners,
  findMember,
  hasOtherOwner,
  removeMemberRow,
  setExempt,
  setRole,
  withdrawInvitations,
  withdrawInvitationsTo,
  listMemberRows,
  findMemberByUser,
  type MemberRow,
} from './members.store.ts';
import { isoTime } from '../../platform/clock.ts';

export type PeopleAct = 'invite' | 'change' | 'remove';

const BELOW_OWNER: readonly Role[] = ['viewer', 'member', 'admin'];

/**
 * What a person of each role may do to people of which roles. To change a role, both the old and the new one must be
 * listed. Two rules apply in addition: everybody may leave, and a team keeps its last owner.
 */
export const ROLE_RULES: Record<Role, Record<PeopleAct, readonly Role[]>> = {
  viewer: { invite: [], change: [], remove: [] },
  member: { invite: [], change: [], remove: [] },
  admin: { invite: BELOW_OWNER, change: BELOW_OWNER, remove: BELOW_OWNER },
  owner: { invite: ROLES, change: ROLES, remove: ROLES },
};

const IN_WORDS: Record<PeopleAct, string> = {
  invite: 'cannot invite a person with the role',
  change: 'cannot grant or remove the role',
  remove: 'cannot remove a person with the role',
};

/** Refuses an action that the table does not allow to a person of the role `held`. */
export function mustRule(held: Role, act: PeopleAct, roles: readonly Role[]): void {
  const refused = roles.find((role) => !ROLE_RULES[held][act].includes(role));
  if (refused === undefined) return;
  throw refuse('invalid_permission', { say: `A person with the role ${held} ${IN_WORDS[act]} ${refused}.` });
}

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
    if (ROLES.indexOf(role) < ROLES.indexOf(member.role)) await endAccessOfMember(tx, member, role);
    return presentMember(after);
  });
}

function mustBeOwner(role: Role): void {
  if (role === 'owner') return;
  throw refuse('invalid_permission', { say: 'Only an owner can exempt people from single sign-on.' });
}

/** Ends the grants of apps for a person in the team; passed in, because its module depends on this one. */
type EndGrants = (tx: Executor, member: Pick<MemberRow, 'id' | 'user_id'>, at: number) => Promise<void>;

/** Removes a member. Everybody may leave, whatever the role. */
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
    await endAccessOfMember(tx, member, null);
    await endSsoSessions(tx, member.team_id, member.user_id);
    await endGrants(tx, member, ctx.store.clock.now());
    await keepOut(tx, ctx.store, member);
    return { object: 'team_member' as const, id: member.id, deleted: true as const };
  });
}

/**
 * Refuses to remove the last owner. The team is locked: of two owners who step down at once, the second one is the
 * last.
 */
async function mustNotBeLastOwner(tx: Executor, member: MemberRow): Promise<void> {
  if (await hasOtherOwner(tx, member)) return;
  throw refuse('resource_locked', {
    say: 'This is the last owner of the team who can sign in; make another person an owner first.',
  });
}

const isWayIn = (member: Pick<MemberRow, 'role' | 'sso_exempt'>): boolean =>
  member.role === 'owner' && member.sso_exempt === 1;

/** Called after the change: a remaining owner must be able to sign in when the provider does not respond. */
async function mustLeaveAWayIn(tx: Executor, { team_id: teamId }: MemberRow): Promise<void> {
  if (!(await isEnforced(tx, teamId)) || (await countExemptOwners(tx, teamId)) > 0) return;
  throw refuse('resource_locked', {
    say: 'This is the last owner who signs in with a password, and the team enforces single sign-on; exempt another owner first, or stop enforcing it.',
  });
}

/**
 * Prevents a removed member from returning by signing in through the provider; an invitation lets the person return.
 */
async function keepOut(tx: Executor, { clock, ids }: Store, { team_id: teamId, user_id: userId }: MemberRow) {
  const connection = await findConnection(tx, teamId);
  if (!connection || (await identityOfUser(tx, connection.id, userId))) return;
  const known = { connection_id: connection.id, user_id: userId, subject: null };
  await insertIdentity(tx, { id: ids.uuid(), ...known, created_at: clock.now() });
}

/**
 * Ends what the person's former role gave: sessions in the team, invitations that only that role may send, and
 * invitations to the person.
 */
async function endAccessOfMember(tx: Executor, member: MemberRow, left: Role | null): Promise<void> {
  const { user_id: userId, team_id: teamId } = member;
  await endSessionsInTeam(tx, { userId, teamId });
  await withdrawInvitations(tx, { userId, teamId }, left === null ? [] : ROLE_RULES[left].invite);
  await withdrawInvitationsTo(tx, { userId, teamId });
}

/** Lists the people of the credential's own team. */
export async function listMembers({ store, teamId }: Ctx, page: Page) {
  const { rows, hasMore } = await listMemberRows(store.db, teamId, page);
  return { object: 'list' as const, has_more: hasMore, data: rows.map(presentMember) };
}

export async function listTeamMembers(ctx: Ctx, named: string, page: Page) {
  mustBeOwnTeam(ctx, named);
  return listMembers(ctx, page);
}

export async function getTeamMember(ctx: Ctx, named: string, id: string) {
  mustBeOwnTeam(ctx, named);
  const row = await findMember(ctx.store.db, ctx.teamId, id);
  if (!row) throw notFound('Member');
  return presentMember(row);
}

export const presentMember = (row: MemberRow) => ({
  object: 'team_member' as const,
  id: row.id,
  user_id: row.user_id,
  email: row.email,
  name: row.name,
  role: row.role,
  disabled: row.disabled_at !== null,
  mfa_enabled: row.mfa_enabled_at !== null,
  sso_exempt: row.sso_exempt === 1,
  created_at: isoTime(row.created_at),
});

/** Refuses any team but that of the session, with the same error whether the person is in it or not. */
export function mustBeOwnTeam({ teamId }: Ctx, named: string): void {
  if (named.toLowerCase() !== teamId) throw notFound('Team');
}

/** Returns the account of the calling session. */
function readCallerId({ actor }: Ctx): string {
  if (actor.kind !== 'session') throw new Error('a change of team members was called without a session');
  return actor.userId;
}

/**
 * Locks the team to the end of the transaction and returns the caller's role once the lock is held: it may have been
 * changed since the request was authorized.
 */
export async function lockPeople(tx: Executor, ctx: Ctx): Promise<{ userId: string; role: Role }> {
  const userId = readCallerId(ctx);
  await lockTeam(tx, ctx.teamId);
  const member = await findMemberByUser(tx, ctx.teamId, userId);
  if (member) return { userId, role: member.role };
  throw refuse('invalid_permission', { say: 'You are no longer a member of this team.' });
}
