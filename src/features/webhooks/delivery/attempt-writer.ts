import { pause } from '../../../platform/clock/index.ts';
import type { GroupCommit } from '../../../platform/db/index.ts';
import type { World } from '../../../platform/world/index.ts';
import { recordAttempts, recordHealth, type Attempt } from '../endpoints/index.ts';

/** Records an attempt, however long that takes; false when it cannot be written and `signal` has fired. */
export type WriteAttempt = (attempt: Attempt, signal: AbortSignal) => Promise<boolean>;

const TRY_AGAIN_MS = 1000;
const LOG_MS = 60_000;

/**
 * Records the attempts of all endpoints together. An attempt is not repeated because the database is away for a while:
 * it is recorded when the database is back.
 */
export function createAttemptWriter({ clock, log, meter, tracer }: World, commits: GroupCommit): WriteAttempt {
  const write = commits.lane<Attempt, void>(async (tx, attempts) => {
    await recordAttempts(tx, attempts);
    await recordHealth(tx, attempts);
    return attempts.map(() => undefined);
  });
  let saidAt = -Infinity;

  /** Logs at most once a minute, because a full disk fails hundreds of writes. */
  function say(error: unknown, { webhookId, eventId }: Attempt): void {
    if (Math.abs(clock.now() - saidAt) < LOG_MS) return;
    saidAt = clock.now();
    log.error({ err: error, webhookId, eventId }, 'could not write down attempts to send webhooks');
  }

  return async (attempt, signal) => {
    for (;;) {
      const isLastTry = signal.aborted;
      try {
        await write(attempt);
        meter.count('rasket_webhook_attempts_total', { result: attempt.isSuccess ? 'success' : 'failure' });
        const { id, eventId, webhookId, sentAt, durationMs, status, isSuccess } = attempt;
        tracer.notified({ id, eventId, webhookId, startMs: sentAt, durationMs, status, isSuccess });
        return true;
      } catch (error) {
        say(error, attempt);
      }
      if (isLastTry) return false;
      await pause(clock, TRY_AGAIN_MS, signal);
    }
  };
}
