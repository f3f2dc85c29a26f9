import { systemClock, type Clock } from '../../src/platform/clock.ts';

export interface RehearsalClock extends Clock {
  /** Runs that many times as fast from now on; pending timers fire at the same simulated time as before. */
  setSpeed(speed: number): void;
}

interface Timer {
  /** Simulated time since the start. */
  at: number;
  fire(): void;
  cancel(): void;
}

/** Creates a clock that starts at the time of another one and runs faster. */
export function createRehearsalClock(speed: number, base: Clock = systemClock): RehearsalClock {
  const startedAt = base.now();
  const timers = new Set<Timer>();
  let since = { simulated: 0, real: base.steady() };
  const passed = (): number => since.simulated + (base.steady() - since.real) * speed;

  function start(timer: Timer): void {
    timer.cancel = base.timer((timer.at - passed()) / speed, () => {
      timers.delete(timer);
      timer.fire();
    });
  }

  return {
    // Whole milliseconds, as every clock shows.
    now: () => startedAt + Math.floor(passed()),
    steady: passed,
    timer(delayMs, fire) {
      const timer: Timer = { at: passed() + Math.max(0, delayMs), fire, cancel: () => undefined };
      timers.add(timer);
      start(timer);
      return () => {
        timers.delete(timer);
        timer.cancel();
      };
    },
    setSpeed(next) {
      if (next === speed) return;
      since = { simulated: passed(), real: base.steady() };
      speed = next;
      for (const timer of timers) {
        timer.cancel();
        start(timer);
      }
    },
  };
}
