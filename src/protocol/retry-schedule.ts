export type RetryInput = {
  /** Number of attempts so far, including the one that just failed. */
  attempt: number;
  /** Milliseconds since the epoch, as all times here. */
  firstAttemptAt: number;
  now: number;
  /** The wait after the first attempt, after the second, and so on; the last one repeats. */
  scheduleMs: readonly number[];
  giveUpAfterMs: number;
  /** A random number from 0 to 1. */
  random: () => number;
};

export type NextAttempt = { at: number } | { giveUp: true };

// Mail that failed together, in an outage or before a restart, must not be retried all at once.
const jitterShare = 0.15;

/**
 * Returns the time of the next attempt, or gives up. If the schedule would pass the give-up time, one last attempt is
 * made at that time; it is omitted if it would follow this one sooner than the schedule's shortest wait.
 */
export function nextAttempt(input: RetryInput): NextAttempt {
  const { attempt, firstAttemptAt, now, scheduleMs, giveUpAfterMs, random } = input;
  const waitMs = scheduleMs[Math.min(Math.max(attempt, 1), scheduleMs.length) - 1];
  if (waitMs === undefined) return { giveUp: true };
  const end = firstAttemptAt + giveUpAfterMs;
  const at = now + Math.round(waitMs * (1 + (random() * 2 - 1) * jitterShare));
  if (at <= end) return { at };
  const shortestMs = Math.min(...scheduleMs) * (1 - jitterShare);
  return end - now >= shortestMs ? { at: end } : { giveUp: true };
}
