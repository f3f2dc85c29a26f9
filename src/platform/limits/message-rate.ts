import type { Clock } from '../clock.ts';
import { BoundedMap } from './bounded-map.ts';

const MINUTE_MS = 60_000;
/** More callers than any installation of this size has within a minute; beyond that, the least recent are forgotten. */
const CALLERS_MAX = 100_000;

/** Counts the calls of each caller within a minute of the clock, or within `windowMs`; true while a caller is within `max`. */
export function createMessageRate(clock: Clock, max: number, windowMs = MINUTE_MS): (caller: string) => boolean {
  let window = -1;
  const counts = new BoundedMap<string, number>(CALLERS_MAX);
  return (caller) => {
    const now = Math.floor(clock.now() / windowMs);
    if (now !== window) counts.clear();
    window = now;
    const count = (counts.get(caller) ?? 0) + 1;
    counts.set(caller, count);
    return count <= max;
  };
}
