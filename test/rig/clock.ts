import type { Clock } from '../../src/platform/clock.ts';

/** A clock that moves only by hand: two days of retries pass in milliseconds. */
export interface ManualClock extends Clock {
  /** Moves on by `ms`, firing timers that fall due in order. */
  advance(ms: number): void;
  /** Changes the time by `ms`, forward or back, like a person who corrects a clock: timers keep their delay. */
  step(ms: number): void;
}

interface Timer {
  at: number;
  /** Orders timers that are due at once: the one that was set first fires first. */
  order: number;
  fire: () => void;
}

/** RASKET_TEST_NOW lets every scene begin at a given moment, such as the last second of a year, which tests otherwise meet by chance. */
const given = process.env['RASKET_TEST_NOW'];
if (given !== undefined && Number.isNaN(Date.parse(given))) {
  throw new Error(`RASKET_TEST_NOW must be an ISO 8601 instant; got ${given}.`);
}

/** Returns the time that the clocks of tests show at their beginning. */
export const testNow = (): number => (given === undefined ? Date.now() : Date.parse(given));

export function createManualClock(startAt = testNow()): ManualClock {
  /** Time since the start, which timers use. */
  let passed = 0;
  /** The time of the start, by the clock as it is set now. */
  let origin = startAt;
  let order = 0;
  /** Timers in the order in which they fall due, the next one last. */
  const timers: Timer[] = [];
  return {
    now: () => origin + passed,
    steady: () => passed,
    timer(delayMs, fire) {
      const timer = { at: passed + Math.max(0, delayMs), order: order++, fire };
      timers.splice(findPlace(timers, timer), 0, timer);
      return () => {
        const place = findPlace(timers, timer);
        if (timers[place] === timer) timers.splice(place, 1);
      };
    },
    advance(ms) {
      const until = passed + ms;
      for (let next = timers.at(-1); next && next.at <= until; next = timers.at(-1)) {
        timers.pop();
        passed = Math.max(passed, next.at);
        next.fire();
      }
      passed = until;
    },
    step(ms) {
      origin += ms;
    },
  };
}

/** Returns the position of a timer: after all that fall due later. */
function findPlace(timers: readonly Timer[], timer: Timer): number {
  let from = 0;
  let to = timers.length;
  while (from < to) {
    const middle = (from + to) >> 1;
    const other = timers[middle] as Timer;
    if (other.at > timer.at || (other.at === timer.at && other.order > timer.order)) from = middle + 1;
    else to = middle;
  }
  return from;
}
