/** For how long a failure stops further tries: longer with each failure in a row. */
const DOWN_MS_MIN = 5_000;
const DOWN_MS_MAX = 60_000;

export interface BackOffOptions {
  now: () => number;
  random: () => number;
}

export interface BackOffReasons<Why> {
  /** The least time for which a failure stops further tries; no more than usual unless given. */
  leastMs?: (why: Why) => number;
}

/**
 * Stops tries after a failure and remembers why. They go on when the time is over or the peer has answered; the number
 * of failures in a row is reset only when the peer has done its work.
 */
export class BackOff<Why> {
  #options: BackOffOptions & BackOffReasons<Why>;
  #failuresInARow = 0;
  #forgetAt = -Infinity;
  /** Whether it has answered since the last failure. */
  #hasAnswered = true;
  #down: { until: number; why: Why } | undefined;

  constructor({ now, random }: BackOffOptions, { leastMs }: BackOffReasons<Why> = {}) {
    this.#options = { now, random, leastMs };
  }

  /** Why it is not tried now; undefined if it may be. */
  get why(): Why | undefined {
    return this.#down && this.#down.until > this.#options.now() ? this.#down.why : undefined;
  }

  /** True when nothing is lost by dropping this object. */
  get isForgettable(): boolean {
    return this.#options.now() > this.#forgetAt;
  }

  /** `isOld`: it was not tried, because of a failure that is counted already. */
  failed(why: Why, isOld = false): void {
    // Jitter: what failed together is not retried together.
    const jitter = 0.8 + 0.4 * this.#options.random();
    const usualMs = Math.min(DOWN_MS_MAX, DOWN_MS_MIN * 2 ** (isOld ? 0 : this.#failuresInARow));
    const downMs = Math.max(usualMs, isOld ? 0 : (this.#options.leastMs?.(why) ?? 0)) * jitter;
    this.#down = { until: this.#options.now() + downMs, why };
    this.#forgetAt = this.#down.until + DOWN_MS_MAX;
    this.#hasAnswered = false;
    if (!isOld) this.#failuresInARow += 1;
  }

  /** Counts tries that were under way together and fail together as one failure. */
  failedTogether(why: Why): void {
    if (this.why === undefined) this.failed(why);
  }

  /** The peer answers, so it is tried again; that does not yet say that it works. */
  answered(): void {
    this.#hasAnswered = true;
    this.#down = undefined;
  }

  /** Connections that already exist and still work while no new one succeeds do not reset the count. */
  worked(): void {
    if (this.#hasAnswered) this.#failuresInARow = 0;
  }
}
