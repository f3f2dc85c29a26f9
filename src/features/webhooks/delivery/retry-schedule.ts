const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

/** The waits after the first failed try, the second, and so on; the first try is made at once. */
export const WAITS_MS: readonly number[] = [
  5 * SECOND_MS,
  30 * SECOND_MS,
  2 * MINUTE_MS,
  10 * MINUTE_MS,
  30 * MINUTE_MS,
  HOUR_MS,
  2 * HOUR_MS,
  4 * HOUR_MS,
  8 * HOUR_MS,
];

export const TRIES_MAX = WAITS_MS.length + 1;

/** Jitter in both directions: events that failed together are not retried together. */
const JITTER = 0.1;

/** The time of the next try after `tries` failed ones, the last of them at `now`; undefined when none is left. */
export function nextTryAt(tries: number, now: number, random: () => number): number | undefined {
  const waitMs = WAITS_MS[tries - 1];
  return waitMs === undefined ? undefined : now + Math.round(waitMs * (1 - JITTER + 2 * JITTER * random()));
}
