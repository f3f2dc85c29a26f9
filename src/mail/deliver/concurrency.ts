const INITIAL = 5;

/**
 * How many connections a set of mail servers has shown that it takes: one more with each delivery until it first refuses, half
 * after a refused greeting, a 421 or a timeout, and from then on one more with each round of deliveries.
 */
export class Concurrency {
  #max: number;
  #allowed: number;
  #hasRefused = false;
  /** Deliveries that may have been under way at the last cut and have not ended: they were begun before it, and do not cut again. */
  #beforeCut = 0;

  constructor(max: number) {
    this.#max = max;
    this.#allowed = Math.min(max, INITIAL);
  }

  get allowed(): number {
    return Math.max(1, Math.floor(Math.min(this.#allowed, this.#max)));
  }

  set max(max: number) {
    this.#max = max;
    this.#allowed = Math.min(this.#allowed, max);
  }

  succeeded(): void {
    this.#beforeCut = Math.max(0, this.#beforeCut - 1);
    this.#allowed = Math.min(this.#max, this.#allowed + (this.#hasRefused ? 1 / this.#allowed : 1));
  }

  /** Records a refusal; `others` is the number of connections that there were when one more was refused. */
  refused(others = Number.POSITIVE_INFINITY): void {
    if (this.#beforeCut === 0) {
      this.#beforeCut = this.allowed - 1;
      this.#allowed = Math.max(1, this.#allowed / 2);
    } else {
      this.#beforeCut -= 1;
    }
    this.#allowed = Math.max(1, Math.min(this.#allowed, others));
    this.#hasRefused = true;
  }

  /** Begins again with one connection, after the servers were not used on purpose. */
  startSlowly(): void {
    this.#hasRefused = false;
    this.#allowed = 1;
  }
}
