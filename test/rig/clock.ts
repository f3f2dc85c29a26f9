import type { Clock } from '../../src/platform/clock/index.ts';

/** A clock that moves only by hand: two days of retries pass in milliseconds. */
export interface ManualClock extends Clock {
  /** Moves on by `ms`, firing what falls due on the way in its order. */
  advance(ms: number): void;
}

export function createManualClock(startAt = Date.now()): ManualClock {
  let now = startAt;
  const timers: { at: number; fire: () => void }[] = [];
  return {
    now: () => now,
    timer(delayMs, fire) {
      const timer = { at: now + Math.max(0, delayMs), fire };
      timers.push(timer);
      return () => {
        const at = timers.indexOf(timer);
        if (at >= 0) timers.splice(at, 1);
      };
    },
    advance(ms) {
      const until = now + ms;
      for (;;) {
        const at = firstOf(timers);
        const next = timers[at];
        if (!next || next.at > until) break;
        timers.splice(at, 1);
        now = Math.max(now, next.at);
        next.fire();
      }
      now = until;
    },
  };
}

/** Of two that fall due at once, the one that was set first. */
function firstOf(timers: readonly { at: number }[]): number {
  let first = 0;
  for (let i = 1; i < timers.length; i++) if ((timers[i]?.at ?? 0) < (timers[first]?.at ?? 0)) first = i;
  return first;
}
