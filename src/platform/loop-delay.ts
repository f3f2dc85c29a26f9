/** Measures how late the event loop runs what is due. Bulk work does less while it is late, because other work waits in each step. */
export interface LoopDelay {
  /** Returns the milliseconds by which one in four timers of the last half second was late or later. */
  recentMs(): number;
  /** Returns milliseconds of about the last minute; undefined if nothing is measured. */
  lastMinute(): { p50: number; p99: number; max: number } | undefined;
  /** Returns how often the loop was later than this in about the last minute. */
  countBeyond(ms: number): number;
}

/** The delay from which bulk work does less. */
export const LOOP_DELAY_MS_MAX = 20;

/** Stands for the delay where nothing is measured: bulk work is never held back. */
export const UNMEASURED: LoopDelay = { recentMs: () => 0, lastMinute: () => undefined, countBeyond: () => 0 };

const SAMPLE_MS = 10;
const RECENT_MS = 500;
const RECENT_MIN = 5;
/** High enough to see that turns are long, and low enough that a single collection of garbage does not count. */
const RECENT_SHARE = 0.75;
const A_MINUTE = 6000;

/** Measures the delay of a timer every 10 ms. The returned function `stop` ends it. */
export function measureLoopDelay(): LoopDelay & { stop: () => void } {
  const samples = new Float64Array(A_MINUTE);
  let count = 0;
  let timer: NodeJS.Timeout;

  function sample(): void {
    const dueAt = performance.now() + SAMPLE_MS;
    timer = setTimeout(() => {
      samples[count++ % A_MINUTE] = Math.max(0, performance.now() - dueAt);
      sample();
    }, SAMPLE_MS).unref();
  }

  /** Returns the last samples in ascending order. */
  function sorted(last: number): Float64Array {
    const found = Float64Array.from(
      { length: Math.min(count, last) },
      (_, n) => samples[(count - 1 - n) % A_MINUTE] ?? 0,
    );
    return found.sort();
  }

  /** Returns how many samples the last half second has; a few more if the loop was hardly free. */
  function countRecent(): number {
    let ms = 0;
    let last = 0;
    while (last < Math.min(count, A_MINUTE) && (ms < RECENT_MS || last < RECENT_MIN))
      ms += SAMPLE_MS + (samples[(count - 1 - last++) % A_MINUTE] ?? 0);
    return last;
  }

  sample();
  return {
    recentMs: () => pick(sorted(countRecent()), RECENT_SHARE),
    lastMinute() {
      const all = sorted(A_MINUTE);
      return all.length === 0 ? undefined : { p50: pick(all, 0.5), p99: pick(all, 0.99), max: pick(all, 1) };
    },
    countBeyond: (ms) => sorted(A_MINUTE).filter((delay) => delay > ms).length,
    stop: () => clearTimeout(timer),
  };
}

const pick = (ascending: Float64Array, share: number): number =>
  ascending[Math.min(ascending.length - 1, Math.floor(ascending.length * share))] ?? 0;
