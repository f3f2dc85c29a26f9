import { isoTime } from '../../../platform/clock/index.ts';
import { createUnleasedLoop, type WorkLoop } from '../../../platform/work-loop/index.ts';
import type { World } from '../../../platform/world/index.ts';
import { noticeDomain } from '../../../mail/domains/index.ts';
import {
  BY_OPERATOR,
  noteInvitationMailed,
  tokenOf,
  unmailedInvitations,
  type InvitationRow,
} from '../invitations/index.ts';
import { findAccount } from '../../../tenancy/members/index.ts';
import { findTeam } from '../../../tenancy/teams/index.ts';
import { mailOnce, type Accept } from '../../../mail/accept/index.ts';
import { UNANSWERED } from './send-account-mail.ts';

/** Another process's requests do not wake us. */
const POLL_MS = 10_000;
const AT_ONCE = 10;

/** Mails invitations, through accept like all mail and once each, from a domain of the team that invites. */
export function createInvitationMails(world: World, accept: Pick<Accept, 'acceptEmail'>): WorkLoop {
  const { db, clock, log } = world;
  return createUnleasedLoop<InvitationRow>({
    ...{ name: 'invitations', db, clock, log, pollMs: POLL_MS, atOnceMax: AT_ONCE },
    wakeOn: ['team_invitations'],
    due: (limit) => unmailedInvitations(db, world.clock.now(), limit),
    carry: (invitation) => mail(world, accept, invitation),
    describe: ({ id, team_id: teamId }) => ({ invitationId: id, teamId }),
  });
}

async function mail(world: World, accept: Pick<Accept, 'acceptEmail'>, invitation: InvitationRow): Promise<void> {
  const fault = await send(world, accept, invitation);
  if (fault !== undefined) {
    const { id: invitationId, team_id: teamId } = invitation;
    world.log.warn({ invitationId, teamId }, `an invitation could not be mailed: ${fault}`);
  }
  await noteInvitationMailed(world.db, invitation.id, { at: world.clock.now(), fault: fault ?? null });
}

/** Answers why there was no mail. */
async function send(
  world: World,
  accept: Pick<Accept, 'acceptEmail'>,
  invitation: InvitationRow,
): Promise<string | undefined> {
  const { id, team_id: teamId, email } = invitation;
  const token = tokenOf(world, invitation);
  if (token === undefined) return 'the instance key that its token was made with is gone; withdraw it and invite anew';
  const [team, inviter, domain] = [
    await findTeam(world.db, teamId),
    await findAccount(world.db, invitation.invited_by),
    await noticeDomain(world.db, teamId),
  ];
  if (!team || domain === undefined) return 'the team has no verified domain to send from';
  const by = invitation.invited_by === BY_OPERATOR ? 'The operator of this service' : (inviter?.email ?? 'Somebody');
  const text = [
    `${by} invites ${email} to the team "${team.name}", with the role ${invitation.role}.`,
    '',
    'To accept, with an account that you have or a new one, open this link:',
    '',
    `${world.origin()}/invitation?token=${token}`,
    '',
    `It works once, until ${isoTime(invitation.expires_at)}. If you did not expect it, ignore this mail.`,
  ].join('\n');
  const input = { from: `rasket <notifications@${domain}>`, to: email, subject: `Invitation to ${team.name}`, text };
  // A person with the token is taken for the owner of the address: the team that invites does not read it.
  const as = { kind: 'transactional' as const, isAccountMail: true };
  const mail = { ...input, headers: UNANSWERED };
  return mailOnce(world, accept, { teamId, job: 'invitations', kind: 'invitation', occasion: id, input: mail, as });
}
