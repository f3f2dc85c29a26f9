import type { World } from '../../../platform/world/index.ts';
import { accountSender } from '../accounts/index.ts';
import { mailOnce, type Accept } from '../../../mail/accept/index.ts';

export interface OutgoingAccountMail {
  /** What is sent, and for which occasion: one mail goes out for both. */
  kind: string;
  occasion: string;
  to: string;
  subject: string;
  text: string;
}

/** So that no out-of-office answer quotes a link to the team whose domain the mail comes from. */
export const UNANSWERED = { 'Auto-Submitted': 'auto-generated', 'X-Auto-Response-Suppress': 'All' };

/**
 * A mail to a person about their account, from the domain that the settings name. It counts towards no quota: what a team sends
 * must not keep anybody from a new password. Answers why it was not sent.
 */
export async function sendAccountMail(
  world: World,
  accept: Pick<Accept, 'acceptEmail'>,
  { kind, occasion, to, subject, text }: OutgoingAccountMail,
): Promise<string | undefined> {
  const sender = await accountSender(world);
  if (!sender) return 'there is no verified domain that such mail can be sent from';
  const input = { from: `rasket <${sender.address}>`, to, subject, text, headers: UNANSWERED };
  const as = { kind: 'notice' as const, isAccountMail: true };
  return mailOnce(world, accept, { teamId: sender.teamId, job: 'accounts', kind, occasion, input, as });
}
