import type { Role } from '../../contract/index.ts';
import { isoTime } from '../../platform/clock/index.ts';
import type { Page } from '../../platform/db/index.ts';
import { invalidFields, notFound, refuse } from '../../platform/refusal/index.ts';
import { hashToken } from '../../platform/secrets/index.ts';
import { parseMailbox } from '../../protocol/address/index.ts';
import type { Ctx } from '../access/index.ts';
import { noticeDomain } from '../domains/index.ts';
import { findMemberByEmail, lockPeople, mustBeOwnTeam, mustRule } from '../members/index.ts';
import { emailKeyOf } from '../users/index.ts';
import { invitationToken } from './invitation-token.ts';
import {
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
  const email = readAddress(input.email);
  const { db, clock, ids } = ctx.store;
  const now = clock.now();
  const id = ids.uuid();
  const row: InvitationRow = {
    ...{ id, team_id: ctx.teamId, email, email_key: emailKeyOf(email), role: input.role },
    ...{ token_hash: hashToken(invitationToken(ctx.store, id)), created_at: now, expires_at: now + LIFE_MS },
    ...{ invited_by: '', mailed_at: null, fault: null, accepted_at: null },
  };
  return db.tx(async (tx) => {
    const caller = await lockPeople(tx, ctx);
    mustRule(caller.role, 'invite', [row.role]);
    if (await findMemberByEmail(tx, ctx.teamId, row.email_key)) throw locked(`${email} is in this team already.`);
    const open = await findOpenInvitationTo(tx, ctx.teamId, row.email_key);
    if (open && open.expires_at > now) {
      throw locked(`${email} has an open invitation to this team; withdraw it to send another one.`);
    }
    if ((await countOpenInvitations(tx, ctx.teamId, now)) >= OPEN_MAX) {
      throw unable(`A team has at most ${OPEN_MAX} open invitations; withdraw one first.`);
    }
    if ((await noticeDomain(tx, ctx.teamId)) === undefined) {
      throw unable('This team has no verified domain from which the invitation could be mailed; verify one first.');
    }
    if (open) await removeInvitation(tx, open.id);
    await insertInvitation(tx, { ...row, invited_by: caller.userId });
    const inviter = ctx.actor.kind === 'session' ? ctx.actor.name : null;
    return present({ ...row, inviter }, now);
  });
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
