import { classifyReply } from '../../../platform/reply-rules/index.ts';
import { isRetried, replyText, type Reply, type ReplyStage } from '../../../protocol/smtp-reply/index.ts';
import type { JobOutcome } from './delivery-job.ts';

/** The outcome for a recipient when a step was not answered with success (RFC 5321 §4.2.1). */
export function outcomeOf(reply: Reply, step: ReplyStage, mx: string): JobOutcome {
  const detail = `${mx} answered ${step} with ${replyText(reply)}`;
  if (reply.code < 400 || reply.code >= 600) return { kind: 'deferred', reason: 'protocol_error', detail, reply, mx };
  const { cause, waitMs } = classifyReply({ reply, stage: step, mx });
  if (!isRetried(reply, cause)) return { kind: 'bounced', reason: 'refused', detail, reply, cause, mx };
  return { kind: 'deferred', reason: 'refused_for_now', detail, reply, cause, mx, waitMs };
}

/** RFC 5321 §4.5.3.1.10: after accepted recipients, a bare 552 means "too many of them" and is taken for a 452. */
export function isTooManyRecipients(reply: Reply, acceptedBefore: number): boolean {
  return reply.code === 552 && acceptedBefore > 0 && (!reply.enhanced || reply.enhanced.endsWith('.5.3'));
}
