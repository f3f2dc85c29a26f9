import type { ErrorName } from '../../contract/index.ts';
import type { Deferral } from '../../mail/receive/index.ts';
import { SmtpReply } from './smtp-reply.ts';

type Words = readonly [enhanced: string, text: string];

const UNLOOKED: Record<Exclude<Deferral['why'], 'not_forwarded'>, Words> = {
  no_scanner: ['4.7.0', 'The message cannot be looked at for viruses at present; send it again later'],
  unchecked: ['4.7.0', 'What SPF, DKIM and DMARC say of the message cannot be found out now; send it again later'],
};

/** Refusals are written for a team about its own sends; these words tell the client about the recipient's address. */
const NOT_FORWARDED: Partial<Record<ErrorName, Words>> = {
  service_unavailable: ['4.3.2', 'sending is switched off on this installation; send it again later'],
  daily_quota_exceeded: ['4.7.1', 'its owner may send no more today; send it again tomorrow'],
  rate_limit_exceeded: ['4.7.1', 'too much is being sent for its owner; send it again in a minute'],
  concurrent_idempotent_requests: ['4.7.1', 'this very message is on its way just now; send it again in a minute'],
};
const TROUBLE: Words = ['4.3.0', 'that fails for a trouble of this server; send it again later'];

/** The reply to a deferral: what is wrong, and when to try again. */
export function deferralReply(deferral: Deferral): SmtpReply {
  if (deferral.why !== 'not_forwarded') return new SmtpReply(451, ...UNLOOKED[deferral.why]);
  const [enhanced, because] = NOT_FORWARDED[deferral.refusal.errorName] ?? TROUBLE;
  return new SmtpReply(451, enhanced, `Mail to this address is passed on, and ${because}`);
}
