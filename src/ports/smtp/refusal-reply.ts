import type { ErrorName } from '../../contract/index.ts';
import type { Refusal } from '../../platform/refusal/index.ts';
import { SmtpReply } from './smtp-reply.ts';

type Code = readonly [code: number, enhanced: string];

/** A limit that passes with time gets a 4yz, so that clients keep the message and try again. */
const BY_NAME: Partial<Record<ErrorName, Code>> = {
  invalid_api_key: [535, '5.7.8'],
  restricted_api_key: [535, '5.7.8'],
  suspended_api_key: [535, '5.7.13'],
  daily_quota_exceeded: [452, '4.7.1'],
  monthly_quota_exceeded: [550, '5.7.1'],
  rate_limit_exceeded: [451, '4.7.1'],
  concurrent_idempotent_requests: [451, '4.7.1'],
  invalid_idempotent_request: [550, '5.7.1'],
  service_unavailable: [451, '4.3.2'],
};

/** The only translation of refusals to replies. */
export function replyTo(refusal: Refusal): SmtpReply {
  const [code, enhanced] = BY_NAME[refusal.errorName] ?? byStatus(refusal.status);
  return new SmtpReply(code, enhanced, refusal.message, refusal);
}

function byStatus(status: number): Code {
  if (status >= 500) return [451, '4.3.0'];
  return status === 403 ? [550, '5.7.1'] : [550, '5.6.0'];
}
