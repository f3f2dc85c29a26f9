import type { World } from '../../platform/world/index.ts';
import type { AttemptRow, TriedRecipient } from '../emails/index.ts';
import { replyText } from '../../protocol/smtp-reply/index.ts';
import type { DeliveryRow, Outcome, Tried } from '../queue/index.ts';
import { causeFor, isUntried } from './conclude.ts';

const TRANSCRIPT_CHARS_MAX = 8000;
const REPLY_CHARS_MAX = 1000;

/** The row of `delivery_attempts` for an attempt; undefined where it was broken off before it began and counts as none. */
export function attemptOf(
  world: World,
  row: DeliveryRow,
  outcomes: readonly Outcome[],
  { at, durationMs, conversation }: Tried,
): AttemptRow | undefined {
  const tried = outcomes.filter((outcome) => outcome.kind !== 'suppressed' && !isUntried(outcome));
  const [first] = tried;
  if (!first) return undefined;
  const mx = conversation?.mx ?? ('mx' in first ? first.mx : undefined);
  return {
    email_id: row.email_id,
    id: world.ids.uuid(),
    created_at: at,
    attempt: row.attempt,
    destination: row.destination,
    mx: mx ?? null,
    relay: ('relay' in first ? first.relay : undefined) ?? null,
    address: conversation?.address ?? null,
    tls_version: conversation?.tls?.version ?? null,
    tls_cipher: conversation?.tls?.cipher ?? null,
    duration_ms: durationMs,
    recipients: JSON.stringify(tried.map(recipientOf)),
    transcript: conversation?.transcript.join('\n').slice(0, TRANSCRIPT_CHARS_MAX) ?? null,
  };
}

function recipientOf(outcome: Outcome): TriedRecipient {
  const said = 'reply' in outcome && outcome.reply ? replyText(outcome.reply) : undefined;
  const detail = 'detail' in outcome ? outcome.detail : undefined;
  return {
    email: outcome.address,
    outcome: outcome.kind,
    reason: 'reason' in outcome ? outcome.reason : null,
    reply: (said ?? detail)?.slice(0, REPLY_CHARS_MAX) ?? null,
    cause: (outcome.kind === 'bounced' || outcome.kind === 'deferred' ? causeFor(outcome) : undefined) ?? null,
  };
}
