/** Measures how late the event loop runs what is due. Bulk work does less while it is late, because other work waits in each step. */
export interface LoopDelay {
  /** Returns the milliseconds by which the loop was late, or later, for a quarter of the last half second. */
  recentMs(): number;
  /**
   * Returns milliseconds of the last minute; undefined if nothing is measured. They are shares of time, such as a request that comes
   * at any time meets: turns of 300 ms that take most of a minute are its median, however many short ones are between them.
   */
  lastMinute(): { p50: number; p99: number; max: number } | undefined;
  /** Returns how often the loop was later than this in the last minute. */
  countBeyond(ms: number): number;
}

/** The delay from which bulk work does less. */
const LOOP_DELAY_MS_MAX = 20;

/** Stands for the delay where nothing is measured: bulk work is never held back. */
export const UNMEASURED: LoopDelay = { recentMs: () => 0, lastMinute: () => undefined, countBeyond: () => 0 };

const SAMPLE_MS = 10;
const RECENT_MS = 500;
/** High enough to see that turns are long, and low enough that a single collection of garbage does not count. */
const RECENT_SHARE = 0.75;
const MINUTE_MS = 60_000;
const SAMPLES_MAX = MINUTE_MS / SAMPLE_MS;

/** Measures the delay of a timer every 10 ms. The returned function `stop` ends it. */
export function measureLoopDelay(): LoopDelay & { stop: () => void } {
  const samples = new Float64Array(SAMPLES_MAX);
  let count = 0;
  let timer: NodeJS.Timeout;

  function sample(): void {
    const dueAt = performance.now() + SAMPLE_MS;
    timer = setTimeout(() => {
      samples[count++ % SAMPLES_MAX] = Math.max(0, performance.now() - dueAt);
      sample();
    }, SAMPLE_MS).unref();
  }

  /** Returns the delays of that much time up to now, in ascending order. */
  function sorted(lastMs: number): Float64Array {
    let number = 0;
    for (let ms = 0; number < Math.min(count, SAMPLES_MAX) && ms < lastMs; number++) ms += toTime(delayBefore(number));
    return Float64Array.from({ length: number }, (_, n) => delayBefore(n)).sort();
  }

  /** Returns the delay that was measured so many samples before the last one. */
  const delayBefore = (n: number): number => samples[(count - 1 - n) % SAMPLES_MAX] ?? 0;

  sample();
  return {
    recentMs: () => pick(sorted(RECENT_MS), RECENT_SHARE),
    lastMinute() {
      const all = sorted(MINUTE_MS);
      return all.length === 0 ? undefined : { p50: pick(all, 0.5), p99: pick(all, 0.99), max: pick(all, 1) };
    },
    countBeyond: (ms) => sorted(MINUTE_MS).filter((delay) => delay > ms).length,
    stop: () => clearTimeout(timer),
  };
}

/** Returns the time that a sample stands for. */
const toTime = (delay: number): number => SAMPLE_MS + delay;

/** Returns the delay that was not exceeded for this share of the time. */
function pick(ascending: Float64Array, share: number): number {
  let left = share * ascending.reduce((sum, delay) => sum + toTime(delay), 0);
  for (const delay of ascending) {
    left -= toTime(delay);
    if (left <= 0) return delay;
  }
  return ascending.at(-1) ?? 0;
}

const ADJUST_MS = 200;
const SHRINK = 0.75;
const GROW = 1.2;

/** Chooses how much bulk work is done at a time: less and less while the event loop is late, and more again when it is on time. */
export class BulkSize {
  readonly #bounds: { min: number; max: number };
  readonly #delay: Pick<LoopDelay, 'recentMs'>;
  readonly #now: () => number;
  #size: number;
  #adjustedAt = Number.NEGATIVE_INFINITY;

  constructor(bounds: { min: number; max: number }, delay: Pick<LoopDelay, 'recentMs'>, now: () => number) {
    this.#bounds = bounds;
    this.#size = bounds.max;
    this.#delay = delay;
    this.#now = now;
  }

  get current(): number {
    return Math.floor(this.#size);
  }

  /** Follows the delay. It shrinks from what is in use, where that is known to be less than what was permitted. */
  adjust(inUse = Number.POSITIVE_INFINITY): this {
    const steps = Math.min(50, Math.floor((this.#now() - this.#adjustedAt) / ADJUST_MS));
    if (steps < 1) return this;
    this.#adjustedAt = this.#now();
    const delayMs = this.#delay.recentMs();
    const { min, max } = this.#bounds;
    if (delayMs > LOOP_DELAY_MS_MAX) this.#size = Math.max(min, Math.min(this.#size, inUse) * SHRINK);
    else if (delayMs < LOOP_DELAY_MS_MAX / 2) this.#size *= GROW ** steps;
    this.#size = Math.min(this.#size, max);
    return this;
  }
}
