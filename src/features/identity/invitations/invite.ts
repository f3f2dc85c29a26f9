import type { Role } from '../../../contract/index.ts';
import { isoTime } from '../../../platform/clock/index.ts';
import type { Executor, Page } from '../../../platform/db/index.ts';
import { invalidFields, notFound, refuse } from '../../../platform/refusal/index.ts';
import { hashToken } from '../../../platform/secrets/index.ts';
import { parseMailbox } from '../../../protocol/address/index.ts';
import type { Store } from '../../../platform/store/index.ts';
import { lockTeam, type Ctx } from '../../../tenancy/access/index.ts';
import { noticeDomain } from '../../../mail/domains/index.ts';
import { findMemberByEmail, lockPeople, mustBeOwnTeam, mustRule } from '../../../tenancy/members/index.ts';
import { countInvitation } from '../sessions/index.ts';
import { emailKeyOf, lockUser, mustNotBeDisabled } from '../../../tenancy/users/index.ts';
import { invitationToken } from './invitation-token.ts';
import {
  BY_OPERATOR,
  countOpenInvitations,
  findOpenInvitation,
  findOpenInvitationTo,
  insertInvitation,
  openInvitations,
  removeInvitation,
  type InvitationRow,
  type ListedInvitation,
} from './invitations.store.ts';

const LIFE_MS = 7 * 24 * 3_600_000;
const OPEN_MAX = 100;

export async function createInvitation(ctx: Ctx, named: string, input: { email: string; role: Role }) {
  mustBeOwnTeam(ctx, named);
  const row = newInvitation(ctx.store, { teamId: ctx.teamId, ...input });
  return ctx.store.db.tx(async (tx) => {
    const caller = await lockPeople(tx, ctx);
    mustRule(caller.role, 'invite', [row.role]);
    // An operator who disables the person meanwhile waits and withdraws this one too, or has done so and it is refused here.
    const person = await lockUser(tx, caller.userId);
    if (person) mustNotBeDisabled(person);
    await mustHaveDomain(tx, row.team_id);
    await insertOpen(tx, { ...row, invited_by: caller.userId });
    await countInvitation(tx, { teamId: row.team_id, emailKey: row.email_key, now: row.created_at });
    const inviter = ctx.actor.kind === 'session' ? ctx.actor.name : null;
    return present({ ...row, inviter }, row.created_at);
  });
}

/** By an operator, who is above every role. Without a mail, the token is handed over. */
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
    ...{ id, team_id: teamId, email, email_key: emailKeyOf(email), role, invited_by: '' },
    ...{ token_hash: hashToken(invitationToken(store, id)), created_at: now, expires_at: now + LIFE_MS },
    ...{ mailed_at: null, fault: null, accepted_at: null },
  };
}

async function mustHaveDomain(tx: Executor, teamId: string): Promise<void> {
  if ((await noticeDomain(tx, teamId)) !== undefined) return;
  throw unable('This team has no verified domain from which the invitation could be mailed; verify one first.');
}

/** Right only while the team is locked. */
async function insertOpen(tx: Executor, row: InvitationRow): Promise<void> {
  const { team_id: teamId, email, email_key: key, created_at: now } = row;
  if (await findMemberByEmail(tx, teamId, key)) throw locked(`${email} is in this team already.`);
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
  const fault = parsed.ok ? 'it must be without a name' : parsed.fault;
  throw invalidFields([{ path: 'email', message: `email is no address that an invitation can go to: ${fault}` }]);
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
