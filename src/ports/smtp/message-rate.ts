import type { Clock } from '../../platform/clock/index.ts';

const MINUTE_MS = 60_000;
/** More callers than there are within a minute at any installation of this size; beyond, the least recent are forgotten. */
const CALLERS_MAX = 100_000;

/** Counts the calls of each caller within a minute of the clock, or within `windowMs`; true while a caller is within `max`. */
export function createMessageRate(clock: Clock, max: number, windowMs = MINUTE_MS): (caller: string) => boolean {
  let window = -1;
  /** In the order of the last calls. */
  const counts = new Map<string, number>();
  return (caller) => {
    const now = Math.floor(clock.now() / windowMs);
    if (now !== window) counts.clear();
    window = now;
    const count = (counts.get(caller) ?? 0) + 1;
    counts.delete(caller);
    const [leastRecent] = counts.size >= CALLERS_MAX ? counts.keys() : [];
    if (leastRecent !== undefined) counts.delete(leastRecent);
    counts.set(caller, count);
    return count <= max;
  };
}
