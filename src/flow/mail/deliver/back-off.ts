/** How long what failed is left alone: longer each time it fails again. */
const DOWN_MS_MIN = 5_000;
const DOWN_MS_MAX = 60_000;

export interface BackOffOptions {
  now: () => number;
  random: () => number;
}

/**
 * Leaves alone what has failed, and remembers why. It is tried again when the time is over; how often it failed is
 * forgotten only when it has done what it is there for.
 */
export class BackOff<Why> {
  #options: BackOffOptions;
  #failuresInARow = 0;
  #forgetAt = -Infinity;
  /** Since it failed. */
  #hasAnswered = true;
  #down: { until: number; why: Why } | undefined;

  constructor({ now, random }: BackOffOptions) {
    this.#options = { now, random };
  }

  /** Why it is not tried now. */
  get why(): Why | undefined {
    return this.#down && this.#down.until > this.#options.now() ? this.#down.why : undefined;
  }

  /** Nothing is lost when it is forgotten. */
  get isForgettable(): boolean {
    return this.#options.now() > this.#forgetAt;
  }

  /** `isOld` when it was not tried: what was not tried has not failed again. */
  failed(why: Why, isOld = false): void {
    // Jitter keeps what failed together from being tried together again.
    const jitter = 0.8 + 0.4 * this.#options.random();
    const downMs = Math.min(DOWN_MS_MAX, DOWN_MS_MIN * 2 ** (isOld ? 0 : this.#failuresInARow)) * jitter;
    this.#down = { until: this.#options.now() + downMs, why };
    this.#forgetAt = this.#down.until + DOWN_MS_MAX;
    this.#hasAnswered = false;
    if (!isOld) this.#failuresInARow += 1;
  }

  /** What was under way together and fails together is one failure. */
  failedTogether(why: Why): void {
    if (this.why === undefined) this.failed(why);
  }

  /** It answers, so it is tried; that is not yet to say that it works. */
  answered(): void {
    this.#hasAnswered = true;
    this.#down = undefined;
  }

  /** What goes on working while it answers nobody new says nothing. */
  worked(): void {
    if (this.#hasAnswered) this.#failuresInARow = 0;
  }
}
