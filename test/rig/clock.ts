import type { Clock } from '../../src/platform/clock/index.ts';

/** A clock that moves only by hand: two days of retries pass in milliseconds. */
export interface ManualClock extends Clock {
  /** Moves on by `ms`, firing what falls due on the way in its order. */
  advance(ms: number): void;
}

export function createManualClock(startAt = Date.now()): ManualClock {
  let now = startAt;
  let timers: { at: number; fire: () => void }[] = [];
  return {
    now: () => now,
    timer(delayMs, fire) {
      const timer = { at: now + Math.max(0, delayMs), fire };
      timers.push(timer);
      return () => {
        timers = timers.filter((other) => other !== timer);
      };
    },
    advance(ms) {
      const until = now + ms;
      for (;;) {
        const next = timers.filter((timer) => timer.at <= until).sort((a, b) => a.at - b.at)[0];
        if (!next) break;
        timers = timers.filter((timer) => timer !== next);
        now = Math.max(now, next.at);
        next.fire();
      }
      now = until;
    },
  };
}
