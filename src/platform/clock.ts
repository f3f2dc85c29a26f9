/**
 * Time as a parameter. All code that reads the time or waits takes a Clock, so that two days of retries run in
 * milliseconds in a test. A canceled timer never fires. The clock never reads a time zone.
 */
export interface Clock {
  now(): number;
  /**
   * Monotonic milliseconds since an arbitrary moment. Setting the clock does not change it, so `now` can be compared
   * with it; it may stop while the machine is suspended.
   */
  steady(): number;
  /** Calls `fire` once after `delayMs`; the returned function cancels it. A pending timer never keeps the process up. */
  timer(delayMs: number, fire: () => void): () => void;
}

const TIMER_MS_MAX = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  steady: () => performance.now(),
  timer(delayMs, fire) {
    const handle = setTimeout(fire, Math.min(Math.max(0, delayMs), TIMER_MS_MAX));
    handle.unref();
    return () => clearTimeout(handle);
  },
};

/** Formats a time as the API does: ISO 8601 in UTC with milliseconds. */
export const isoTime = (ms: number): string => new Date(ms).toISOString();

/** Yields to the event loop, so that everything already queued runs first. */
export const nextTurn = (): Promise<void> => new Promise((next) => setImmediate(next));

/** Measures how long our own work takes, which a test's clock cannot do; never use it to determine the time. */
export function stopwatch(): () => number {
  const began = performance.now();
  return () => performance.now() - began;
}

/**
 * Does the work every `everyMs`, never twice at a time. Ticks that were missed while the work ran, for example because
 * the machine slept or the database was slow, are made up for by one more run. The work never rejects. The returned
 * function stops the repetition.
 */
export function repeat(clock: Clock, everyMs: number, work: () => Promise<void>): () => void {
  let isDoing = false;
  let onceMore = false;
  let isOver = false;
  let cancel = (): void => undefined;
  const tick = (): void => {
    wait();
    onceMore = true;
    if (!isDoing) void doAll();
  };
  const wait = (): void => {
    cancel = clock.timer(everyMs, tick);
  };
  async function doAll(): Promise<void> {
    isDoing = true;
    while (onceMore && !isOver) {
      onceMore = false;
      await work();
    }
    isDoing = false;
  }
  wait();
  return () => {
    isOver = true;
    cancel();
  };
}

/** Resolves after `ms`, or at once when the signal fires. */
export function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      cancel();
      signal.removeEventListener('abort', end);
      resolve();
    };
    const cancel = clock.timer(ms, end);
    if (signal.aborted) return end();
    signal.addEventListener('abort', end);
  });
}

/** Pauses our own work in real time; to wait for anything external, use the clock. */
export const pauseFor = (ms: number): Promise<void> => new Promise((resume) => void setTimeout(resume, ms).unref());

/** Waits in real time and keeps the process up, because a command may have nothing else that does. */
export const waitFor = (ms: number): Promise<void> => new Promise((resume) => void setTimeout(resume, ms));
