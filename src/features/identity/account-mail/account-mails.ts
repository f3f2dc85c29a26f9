import { createUnleasedLoop, type WorkLoop } from '../../../platform/work-loop/index.ts';
import type { World } from '../../../platform/world.ts';
import {
  noteAccountNoticeMailed,
  noteSignUpMailed,
  unmailedAccountNotices,
  unmailedPasswordResets,
  unmailedSignUps,
  type AccountNoticeRow,
  type PasswordResetRow,
  type SignUpRow,
} from '../accounts/accounts.store.ts';
import {
  noteResetMailed,
  chooseSignUpMail,
  findResetUser,
  accountSender,
  reportSender,
} from '../accounts/account-mails.ts';
import { resetTokens, verificationTokens } from '../accounts/passwords.ts';
import { findUser } from '../../../tenancy/users/index.ts';
import { mailOnce, type Accept } from '../../../mail/accept/index.ts';
import { composeAccountMail, type AccountMail } from './account-mail-texts.ts';
import { isoTime } from '../../../platform/clock.ts';
import { noticeDomain } from '../../../mail/domains/index.ts';
import {
  BY_OPERATOR,
  noteInvitationMailed,
  unmailedInvitations,
  type InvitationRow,
} from '../invitations/invitations.store.ts';
import { readToken } from '../invitations/invitations.ts';
import { findAccount } from '../../../tenancy/members/index.ts';
import { findTeam } from '../../../tenancy/teams/index.ts';
import { failedSignIns, type FailedSignInRow } from '../sessions/sign-ins.store.ts';
import { settleFailedSignIn } from '../sessions/attempts.ts';

export interface OutgoingAccountMail {
  /** Together with `occasion`, identifies the mail: it is sent only once for both. */
  kind: string;
  occasion: string;
  to: string;
  subject: string;
  text: string;
  html?: string;
}

/** Suppresses out-of-office replies: they would quote a link to the team that owns the sender domain. */
const UNANSWERED = { 'Auto-Submitted': 'auto-generated', 'X-Auto-Response-Suppress': 'All' };

/**
 * Sends a mail to a person about their account, from the address that `accountSender` returns. It counts towards no
 * quota, so that a team's own mail can never prevent a password reset. Returns the reason if it was not sent.
 */
export async function sendAccountMail(
  world: World,
  accept: Pick<Accept, 'acceptEmail'>,
  { kind, occasion, to, subject, text, html }: OutgoingAccountMail,
): Promise<string | undefined> {
  const sender = await accountSender(world);
  if (!sender) return 'no verified domain is available to send account mail from';
  const input = {
    from: `rasket <${sender.address}>`,
    to,
    subject,
    text,
    ...(html === undefined ? {} : { html }),
    headers: UNANSWERED,
  };
  const as = { kind: 'notice' as const, isAccountMail: true };
  return mailOnce(world, accept, { teamId: sender.teamId, job: 'accounts', kind, occasion, input, as });
}

/**
 * Sends a mail about the whole installation to an operator. The team of the sender domain sees its subject and recipient: where
 * there are several teams, only the operator may decide which one that is. Returns the reason if it was not sent.
 */
export async function sendOperatorMail(
  world: World,
  accept: Pick<Accept, 'acceptEmail'>,
  mail: OutgoingAccountMail,
): Promise<string | undefined> {
  if ((await reportSender(world)) === undefined)
    return 'no verified domain is available to send it from; if there are several teams, set accounts.mail_from';
  return sendAccountMail(world, accept, mail);
}

/** This loop only polls. If the commit woke it, the extra work for known addresses would show in the response time. */
const POLL_MS = 2000;
const AT_ONCE = 10;

type Item = { id: string } & (
  | { kind: 'sign_up'; row: SignUpRow }
  | { kind: 'reset'; row: PasswordResetRow }
  | { kind: 'notice'; row: AccountNoticeRow }
);

type Accepts = Pick<Accept, 'acceptEmail'>;

/**
 * Processes requests of people and mails them. Whether an address has an account is looked up only here, because no
 * caller waits for the response.
 */
export function createAccountMails(world: World, accept: Accepts): WorkLoop {
  const { db, clock, log } = world;
  return createUnleasedLoop<Item>({
    name: 'mails of accounts',
    db,
    clock,
    log,
    pollMs: POLL_MS,
    atOnceMax: AT_ONCE,
    wakeOn: [],
    due: (limit) => due(world, limit),
    process: (item) => sendItem(world, accept, item),
    describe: ({ kind, id }) => ({ kind, id }),
  });
}

async function due({ db, clock }: World, limit: number): Promise<Item[]> {
  const now = clock.now();
  const signUps = await unmailedSignUps(db, now, limit);
  const resets = await unmailedPasswordResets(db, now, limit);
  const notices = await unmailedAccountNotices(db, limit);
  const all: Item[] = [
    ...signUps.map((row) => ({ id: row.id, kind: 'sign_up' as const, row })),
    ...resets.map((row) => ({ id: row.id, kind: 'reset' as const, row })),
    ...notices.map((row) => ({ id: row.id, kind: 'notice' as const, row })),
  ];
  return all.toSorted((a, b) => (a.id < b.id ? -1 : 1));
}

function sendItem(world: World, accept: Accepts, item: Item): Promise<void> {
  switch (item.kind) {
    case 'sign_up':
      return mailSignUp(world, accept, item.row);
    case 'reset':
      return mailReset(world, accept, item.row);
    case 'notice':
      return mailNotice(world, accept, item.row);
  }
}

async function mailSignUp(world: World, accept: Accepts, row: SignUpRow): Promise<void> {
  const told = await chooseSignUpMail(world, row);
  if (told === undefined) return;
  const token = verificationTokens.of(world.secrets, row);
  const fault =
    token === undefined
      ? KEY_IS_GONE
      : await mailAccount(world, accept, {
          id: row.id,
          to: told.to,
          said: { kind: told.kind, token, address: row.address, at: row.created_at },
        });
  await world.db.tx((tx) => noteSignUpMailed(tx, row.id, { at: world.clock.now(), fault }));
}

async function mailReset(world: World, accept: Accepts, row: PasswordResetRow): Promise<void> {
  const user = await findResetUser(world, row);
  if (!user) return;
  const token = resetTokens.of(world.secrets, row);
  // Use the address as the account's owner wrote it, never as it is written in the request.
  const fault =
    token === undefined
      ? KEY_IS_GONE
      : await mailAccount(world, accept, {
          id: row.id,
          to: user.email,
          said: { kind: 'reset', token, address: row.address, at: row.created_at },
        });
  await noteResetMailed(world, row, { user, fault });
}

async function mailNotice(world: World, accept: Accepts, row: AccountNoticeRow): Promise<void> {
  const user = await findUser(world.db, row.user_id);
  const fault = user
    ? await mailAccount(world, accept, {
        id: row.id,
        to: user.email,
        said: { kind: row.kind, address: row.address, at: row.created_at },
      })
    : 'the account no longer exists';
  await world.db.tx((tx) => noteAccountNoticeMailed(tx, row.id, { at: world.clock.now(), fault }));
}

/** Sends the mail. Returns the reason if it was not sent, otherwise null. */
async function mailAccount(
  world: World,
  accept: Accepts,
  { id, to, said }: { id: string; to: string; said: AccountMail },
): Promise<string | null> {
  const texts = composeAccountMail(world.origin(), said);
  const fault = await sendAccountMail(world, accept, { kind: said.kind, occasion: id, to, ...texts });
  if (fault === undefined) return null;
  world.log.warn({ kind: said.kind, id }, `a mail about an account could not be sent: ${fault}`);
  return fault;
}

const KEY_IS_GONE = 'the instance key of its token no longer exists';

/** Needed because requests in other processes do not wake this loop. */
const INVITATIONS_POLL_MS = 10_000;
const INVITATIONS_AT_ONCE = 10;

/**
 * Creates the loop that mails invitations, each once, from a domain of the team that invites. They are accepted in the
 * same way as all mail.
 */
export function createInvitationMails(world: World, accept: Pick<Accept, 'acceptEmail'>): WorkLoop {
  const { db, clock, log } = world;
  return createUnleasedLoop<InvitationRow>({
    name: 'invitations',
    db,
    clock,
    log,
    pollMs: INVITATIONS_POLL_MS,
    atOnceMax: INVITATIONS_AT_ONCE,
    wakeOn: ['team_invitations'],
    due: (limit) => unmailedInvitations(db, world.clock.now(), limit),
    process: (invitation) => mailInvitation(world, accept, invitation),
    describe: ({ id, team_id: teamId }) => ({ invitationId: id, teamId }),
  });
}

async function mailInvitation(
  world: World,
  accept: Pick<Accept, 'acceptEmail'>,
  invitation: InvitationRow,
): Promise<void> {
  const fault = await send(world, accept, invitation);
  if (fault !== undefined) {
    const { id: invitationId, team_id: teamId } = invitation;
    world.log.warn({ invitationId, teamId }, `an invitation could not be mailed: ${fault}`);
  }
  await noteInvitationMailed(world.db, invitation.id, { at: world.clock.now(), fault: fault ?? null });
}

/** Sends an invitation. Returns the reason if it was not sent. */
async function send(
  world: World,
  accept: Pick<Accept, 'acceptEmail'>,
  invitation: InvitationRow,
): Promise<string | undefined> {
  const { id, team_id: teamId, email } = invitation;
  const token = readToken(world, invitation);
  if (token === undefined)
    return 'the instance key of its token no longer exists; withdraw the invitation and send a new one';
  const team = await findTeam(world.db, teamId);
  const inviter = await findAccount(world.db, invitation.invited_by);
  const domain = await noticeDomain(world.db, teamId);
  if (!team || domain === undefined) return 'the team has no verified domain to send from';
  const by = invitation.invited_by === BY_OPERATOR ? 'The operator of this service' : (inviter?.email ?? 'Somebody');
  const text = [
    `${by} invited ${email} to join the team "${team.name}" with the role ${invitation.role}.`,
    '',
    'To accept the invitation with an existing or a new account, open this link:',
    '',
    `${world.origin()}/invitation?token=${token}`,
    '',
    `The link works once and expires on ${isoTime(invitation.expires_at)}. If you did not expect it, ignore this email.`,
  ].join('\n');
  const input = { from: `rasket <notifications@${domain}>`, to: email, subject: `Invitation to ${team.name}`, text };
  // Anybody with the token counts as the owner of the address, so the team that invites must not read this mail.
  const as = { kind: 'transactional' as const, isAccountMail: true };
  const mail = { ...input, headers: UNANSWERED };
  return mailOnce(world, accept, { teamId, job: 'invitations', kind: 'invitation', occasion: id, input: mail, as });
}

/** This loop only polls, for the same reason as the one for account mails. */
const FAILED_SIGN_INS_POLL_MS = 2000;
const FAILED_SIGN_INS_AT_ONCE = 10;

/** Creates the loop that records failed sign-ins to existing accounts in the audit log. */
export function createFailedSignIns(world: World): WorkLoop {
  const { db, clock, log } = world;
  return createUnleasedLoop<FailedSignInRow>({
    name: 'failed sign-ins',
    db,
    clock,
    log,
    pollMs: FAILED_SIGN_INS_POLL_MS,
    atOnceMax: FAILED_SIGN_INS_AT_ONCE,
    wakeOn: [],
    due: (limit) => failedSignIns(db, limit),
    process: (row) => settleFailedSignIn(world, row),
    describe: ({ id }) => ({ id }),
  });
}

export interface People {
  start(): void;
  stop(graceMs: number): Promise<void>;
  /** Polls at once, and resolves when no work is left. */
  idle(): Promise<void>;
}

/** Creates all background work for people. */
export function createPeople(world: World, accept: Pick<Accept, 'acceptEmail'>): People {
  const loops = [createInvitationMails(world, accept), createAccountMails(world, accept), createFailedSignIns(world)];
  return {
    start: () => loops.forEach((loop) => loop.start()),
    stop: async (graceMs) => void (await Promise.all(loops.map((loop) => loop.stop(graceMs)))),
    async idle() {
      for (const loop of loops) loop.wake();
      await Promise.all(loops.map((loop) => loop.idle()));
    },
  };
}
