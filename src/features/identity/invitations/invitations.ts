import type { Role } from '../../../contract/index.ts';
import { isoTime } from '../../../platform/clock.ts';
import type { Executor, Page } from '../../../platform/db/index.ts';
import { invalidFields, notFound, refuse } from '../../../platform/refusal.ts';
import { hashToken, mailedTokens } from '../../../platform/secrets/index.ts';
import { parseMailbox } from '../../../protocol/address/index.ts';
import type { Store } from '../../../platform/store.ts';
import { lockTeam, type Ctx, type UserCtx } from '../../../tenancy/access/index.ts';
import { noticeDomain } from '../../../mail/domains/index.ts';
import {
  findMemberByEmail,
  lockPeople,
  mustBeOwnTeam,
  mustRule,
  findAccount,
  findMemberByUser,
  insertMember,
} from '../../../tenancy/members/index.ts';
import { countInvitation } from '../sessions/attempts.ts';
import { toEmailKey, lockUser, mustNotBeDisabled, findUser, findUserByEmailKey } from '../../../tenancy/users/index.ts';
import {
  BY_OPERATOR,
  countOpenInvitations,
  findOpenInvitation,
  findOpenInvitationTo,
  insertInvitation,
  openInvitations,
  removeInvitation,
  findInvitationByToken,
  noteAccepted,
  removeInvitationsEndedBefore,
  type InvitationRow,
  type ListedInvitation,
} from './invitations.store.ts';
import { findTeam } from '../../../tenancy/teams/index.ts';
import { mustHaveUsedPassword, ssoTeamOfSession } from '../../../tenancy/session-rows/index.ts';

const tokens = mailedTokens('ri_', 'invitation');

const invitationToken = ({ secrets }: Store, id: string): string => tokens.make(secrets, id);

export const readToken = ({ secrets }: Store, row: { id: string; token_hash: string }): string | undefined =>
  tokens.of(secrets, row);

const LIFE_MS = 7 * 24 * 3_600_000;
const OPEN_MAX = 100;

export async function createInvitation(ctx: Ctx, named: string, input: { email: string; role: Role }) {
  mustBeOwnTeam(ctx, named);
  const row = newInvitation(ctx.store, { teamId: ctx.teamId, ...input });
  return ctx.store.db.tx(async (tx) => {
    const caller = await lockPeople(tx, ctx);
    mustRule(caller.role, 'invite', [row.role]);
    // An operator who disables this person at the same time either waits and withdraws this invitation too, or is
    // already done, and it is refused here.
    const person = await lockUser(tx, caller.userId);
    if (person) mustNotBeDisabled(person);
    await mustHaveDomain(tx, row.team_id);
    await insertOpen(tx, { ...row, invited_by: caller.userId });
    await countInvitation(tx, { teamId: row.team_id, emailKey: row.email_key, now: row.created_at });
    const inviter = ctx.actor.kind === 'session' ? ctx.actor.name : null;
    return present({ ...row, inviter }, row.created_at);
  });
}

/**
 * Creates an invitation by an operator, who is above every role. If it is not mailed, the caller delivers the token.
 */
export async function inviteByOperator(
  store: Store,
  { isMailed, ...input }: { teamId: string; email: string; role: Role; isMailed: boolean },
): Promise<{ row: InvitationRow; token: string }> {
  const made = newInvitation(store, input);
  const row = { ...made, invited_by: BY_OPERATOR, mailed_at: isMailed ? null : made.created_at };
  await store.db.tx(async (tx) => {
    await lockTeam(tx, row.team_id);
    if (isMailed) await mustHaveDomain(tx, row.team_id);
    await insertOpen(tx, row);
  });
  return { row, token: invitationToken(store, row.id) };
}

function newInvitation(
  store: Store,
  { teamId, email: written, role }: { teamId: string; email: string; role: Role },
): InvitationRow {
  const email = readAddress(written);
  const now = store.clock.now();
  const id = store.ids.uuid();
  return {
    id,
    team_id: teamId,
    email,
    email_key: toEmailKey(email),
    role,
    invited_by: '',
    token_hash: hashToken(invitationToken(store, id)),
    created_at: now,
    expires_at: now + LIFE_MS,
    mailed_at: null,
    fault: null,
    accepted_at: null,
  };
}

async function mustHaveDomain(tx: Executor, teamId: string): Promise<void> {
  if ((await noticeDomain(tx, teamId)) !== undefined) return;
  throw unable('This team has no verified domain to send the invitation from; verify one first.');
}

/** Inserts an invitation; the team must be locked. */
async function insertOpen(tx: Executor, row: InvitationRow): Promise<void> {
  const { team_id: teamId, email, email_key: key, created_at: now } = row;
  if (await findMemberByEmail(tx, teamId, key)) throw locked(`${email} is already a member of this team.`);
  const open = await findOpenInvitationTo(tx, teamId, key);
  if (open && open.expires_at > now) {
    throw locked(`${email} has an open invitation to this team; withdraw it to send another one.`);
  }
  if ((await countOpenInvitations(tx, teamId, now)) >= OPEN_MAX) {
    throw unable(`A team has at most ${OPEN_MAX} open invitations; withdraw one first.`);
  }
  if (open) await removeInvitation(tx, open.id);
  await insertInvitation(tx, row);
}

export async function listInvitations(ctx: Ctx, named: string, page: Page) {
  mustBeOwnTeam(ctx, named);
  const { rows, hasMore } = await openInvitations(ctx.store.db, ctx.teamId, page);
  const now = ctx.store.clock.now();
  return { object: 'list' as const, has_more: hasMore, data: rows.map((row) => present(row, now)) };
}

export async function revokeInvitation(ctx: Ctx, named: string, id: string) {
  mustBeOwnTeam(ctx, named);
  await ctx.store.db.tx(async (tx) => {
    const caller = await lockPeople(tx, ctx);
    const row = await findOpenInvitation(tx, ctx.teamId, id);
    if (!row) throw notFound('Invitation');
    mustRule(caller.role, 'invite', [row.role]);
    await removeInvitation(tx, row.id);
  });
  return { object: 'invitation' as const, id: id.toLowerCase(), deleted: true as const };
}

function readAddress(text: string): string {
  const parsed = parseMailbox(text);
  if (parsed.ok && parsed.mailbox.name === '') return parsed.mailbox.address;
  const fault = parsed.ok ? 'write the address without a name' : parsed.fault;
  throw invalidFields([{ path: 'email', message: `email is not an address that can be invited: ${fault}` }]);
}

const locked = (say: string) => refuse('resource_locked', { say });
const unable = (say: string) => refuse('validation_error', { status: 422, say });

const present = (row: ListedInvitation, now: number) => ({
  object: 'invitation' as const,
  id: row.id,
  email: row.email,
  role: row.role,
  status: row.expires_at > now ? ('pending' as const) : ('expired' as const),
  invited_by: row.inviter,
  created_at: isoTime(row.created_at),
  expires_at: isoTime(row.expires_at),
  mailed_at: row.mailed_at === null ? null : isoTime(row.mailed_at),
  mail_error: row.fault,
});

const KEPT_MS = 30 * 24 * 3_600_000;

/**
 * Removes old invitations. An ended invitation is still listed for a while, so that the team can see why the invited
 * person did not join. Returns the number removed.
 */
export const forgetInvitations = ({ db, clock }: Store): Promise<number> =>
  removeInvitationsEndedBefore(db, clock.now() - KEPT_MS);

/**
 * Accepts an invitation. The token proves that the mail arrived, and the session proves who the caller is; both must
 * belong to the invited address.
 */
export async function acceptInvitation({ store, actor }: UserCtx, token: string) {
  const hash = hashToken(token);
  return store.db.tx(async (tx) => {
    const found = await findInvitationByToken(tx, hash);
    if (!found) throw gone();
    await lockTeam(tx, found.team_id);
    // Read again after locking: it may have been withdrawn, or accepted by another request.
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
      say: 'Verify your email address first; the invitation stays open until it expires.',
    });
  }
}

/** Returns the invitation of a token. Throws if it was accepted or has expired. */
export async function loadOpenInvitation(db: Executor, token: string, now: number): Promise<InvitationRow> {
  const found = await findInvitationByToken(db, hashToken(token));
  if (!found || found.accepted_at !== null || found.expires_at <= now) throw gone();
  return found;
}

/** Joins the team for an account that is created in the same transaction with the invited address. */
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

/** Adds the person to the team. Returns their role, which stays as it was if they were already a member. */
async function join(
  tx: Executor,
  invitation: InvitationRow,
  { userId, memberId, now }: { userId: string; memberId: string; now: number },
): Promise<Role> {
  const { team_id: teamId, role } = invitation;
  const member = await findMemberByUser(tx, teamId, userId);
  if (member) {
    // Used up here, so that it can neither bring the person back after a removal nor restore a role that was taken
    // away.
    if (invitation.accepted_at === null) await noteAccepted(tx, invitation.id, now);
    return member.role;
  }
  if (invitation.accepted_at !== null || invitation.expires_at <= now) throw gone();
  await insertMember(tx, { id: memberId, team_id: teamId, user_id: userId, role, sso_exempt: 0, created_at: now });
  await noteAccepted(tx, invitation.id, now);
  return role;
}

/** Returned alike for unknown, withdrawn, expired and used invitations. */
const gone = () => notFound('Invitation');

export interface ShownInvitation {
  team: string;
  email: string;
  role: Role;
  /** Address of the person who invited; null if it was the operator, or the person is gone. */
  inviter: string | null;
  /** Account of the invited address; null if there is none. */
  userId: string | null;
}

/**
 * Returns what the holder of the token may see; undefined once the invitation is of no more use. An accepted one still
 * works as a link for its person.
 */
export async function loadShownInvitation({ db, clock }: Store, token: string): Promise<ShownInvitation | undefined> {
  const found = await findInvitationByToken(db, hashToken(token));
  if (!found) return undefined;
  const team = await findTeam(db, found.team_id);
  const user = await findUserByEmailKey(db, found.email_key);
  const isOver = found.accepted_at === null ? found.expires_at <= clock.now() : !user;
  if (!team || isOver) return undefined;
  const inviter = await findUser(db, found.invited_by);
  const { email, role } = found;
  return { team: team.name, email, role, inviter: inviter?.email ?? null, userId: user?.id ?? null };
}
