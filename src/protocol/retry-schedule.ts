export type RetryInput = {
  /** How many attempts were made, the one that just failed included. */
  attempt: number;
  /** Milliseconds since the epoch, as all times here. */
  firstAttemptAt: number;
  now: number;
  /** The wait after the first attempt, after the second, …; the last one repeats. */
  scheduleMs: readonly number[];
  giveUpAfterMs: number;
  /** From 0 to 1. */
  random: () => number;
};

export type NextAttempt = { at: number } | { giveUp: true };

// Mail that failed together, in an outage or before a restart, must not come back together.
const jitterShare = 0.15;

/**
 * The next attempt, or the end. Where the schedule would pass the give-up time, one last attempt is made at that time;
 * it is left out when it would follow this one sooner than the schedule's shortest wait.
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
