import { classifyReply } from '../../platform/reply-rules/index.ts';
import { isRetried, replyText, type Reply, type ReplyStage } from '../../protocol/smtp-reply/index.ts';
import type { JobOutcome } from './delivery-job.ts';
import type { SmtpSession } from './smtp-session.ts';

/** The server that answered: the name of its host, and of the relay if it is one. */
type Answering = Pick<SmtpSession, 'mx' | 'relay' | 'isSmarthost' | 'isAnonymous'>;

/**
 * Returns whether a relay says that the operator has to change the login (RFC 4954 §6). A server that is not a relay
 * never requires one.
 */
export const wantsLogin = ({ code, enhanced = '' }: Reply): boolean =>
  code === 530 || code === 535 || /^5\.7\.[89]$/.test(enhanced);

/** Returns whether a relay refuses without a login what it would accept after one. Submission ports then answer "Access denied". */
const isRefusalWithoutLogin = ({ enhanced = '' }: Reply, { isAnonymous }: Answering): boolean =>
  isAnonymous === true && /^5\.7\.[01]$/.test(enhanced);

/** Returns the outcome for a recipient when a step failed (RFC 5321 §4.2.1). */
export function toOutcome(reply: Reply, step: ReplyStage, from: Answering, recipient: string): JobOutcome {
  const { mx, relay, isSmarthost = false } = from;
  const detail = `${mx} replied to ${step} with ${replyText(reply)}`;
  if (reply.code < 400 || reply.code >= 600) return { kind: 'deferred', reason: 'protocol_error', detail, reply, mx };
  const throughRelay = relay !== undefined || isSmarthost;
  const judged = classifyReply({ reply, stage: step, mx, recipient, throughRelay });
  const { waitMs } = judged;
  // A smarthost has no section in the settings that could be corrected.
  const cause = judged.cause === 'relay_misconfigured' && relay === undefined ? 'relay' : judged.cause;
  const isRefusalOfUs =
    cause === 'relay_misconfigured' || (step !== 'the message' && isRefusalWithoutLogin(reply, from));
  if (relay !== undefined && isRefusalOfUs)
    return { kind: 'deferred', reason: 'relay_misconfigured', detail, reply, cause: 'relay_misconfigured', mx };
  if (!isRetried(reply, cause)) return { kind: 'bounced', reason: 'refused', detail, reply, cause, mx };
  return { kind: 'deferred', reason: 'refused_for_now', detail, reply, cause, mx, waitMs };
}

/** RFC 5321 §4.5.3.1.10: after accepted recipients, a bare 552 means "too many of them" and is taken for a 452. */
export function isTooManyRecipients(reply: Reply, acceptedBefore: number): boolean {
  return reply.code === 552 && acceptedBefore > 0 && (!reply.enhanced || reply.enhanced.endsWith('.5.3'));
}
