import { invalidField, refuse } from '../../platform/refusal.ts';
import { parseIsoTime } from '../../protocol/iso-time.ts';
import type { Actor } from './access.ts';

/**
 * Throws if a draft was changed after the person who sends it had read it (`unchanged_since` of the request), or after a
 * person had approved the call that sends it.
 */
export function mustBeUnchanged(
  actor: Actor,
  { updated_at: updatedAt }: { updated_at: number },
  unchangedSince: string | undefined,
): void {
  const approvedAt = actor.kind === 'oauth_grant' ? (actor.approvedDraftAt ?? undefined) : undefined;
  const readAt = unchangedSince === undefined ? undefined : parseTime(unchangedSince);
  if ([approvedAt, readAt].every((at) => at === undefined || at === Number(updatedAt))) return;
  throw refuse('resource_locked', {
    say: 'The draft was changed after it was read, so nothing was done. Read it again, and repeat the request with its new updated_at.',
  });
}

function parseTime(text: string): number {
  const time = parseIsoTime(text);
  if (time?.hasOffset) return time.ms;
  throw invalidField('unchanged_since', 'unchanged_since must be the updated_at of the draft.');
}

/** Returns the time of a change. No two changes of a draft have the same, so that it identifies what was read. */
export const nextChangeAt = (now: number, { updated_at: before }: { updated_at: number }): number =>
  Math.max(now, Number(before) + 1);
