/**
 * Time as a parameter. Everything that asks for the time or waits for it is handed a Clock, so that two days of
 * retries run in milliseconds in a test. It promises that a cancelled timer never fires. It never reads a time zone.
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

/** A time as the API writes it: ISO 8601 in UTC with milliseconds. */
export const isoTime = (ms: number): string => new Date(ms).toISOString();

/** Whatever else is waiting comes first. */
export const nextTurn = (): Promise<void> => new Promise((next) => setImmediate(next));

/** How long our own work takes, which no test's clock can say; never for deciding what time it is. */
export function stopwatch(): () => number {
  const began = performance.now();
  return () => performance.now() - began;
}

/**
 * Does the work every `everyMs` and never twice at a time: ticks that come while it is under way, as after a sleep of the
 * machine or beside a slow database, are made up for by doing it once more. The work never rejects. The returned
 * function ends that.
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

/** Rests from our own work, in the same real time; never for waiting for the world, which is the clock's. */
export const rest = (ms: number): Promise<void> => new Promise((resume) => void setTimeout(resume, ms).unref());

/** In real time, with the process kept up: a command may have nothing else that does. */
export const waitFor = (ms: number): Promise<void> => new Promise((resume) => void setTimeout(resume, ms));
