import type { JobOutcome } from './outcome.ts';

/** How long what failed is left alone: longer each time it fails again. */
const DOWN_MS_MIN = 5_000;
export const DOWN_MS_MAX = 60_000;

/** Jitter keeps what failed together from being tried together again. */
export function downMs(failuresInARow: number, random: () => number): number {
  return Math.min(DOWN_MS_MAX, DOWN_MS_MIN * 2 ** failuresInARow) * (0.8 + 0.4 * random());
}

/** Openings at one time to an address that has no connection that stands: it may be silent for every name behind it. */
const PROBES_MAX = 2;

export interface MxAddressOptions {
  connectionsMax: number;
  now: () => number;
  random: () => number;
}

type Deferral = Extract<JobOutcome, { kind: 'deferred' }>;

/** One address of a mail server as one of our egresses sees it: what the names behind it share. */
export class MxAddress {
  /** How many wait for permission to open a connection to it. */
  wanted = 0;
  #options: MxAddressOptions;
  #opening = 0;
  #sessions = 0;
  #failuresInARow = 0;
  #down: { until: number; outcome: Deferral } | undefined;

  constructor(options: MxAddressOptions) {
    this.#options = options;
  }

  get isFull(): boolean {
    if (this.#sessions === 0) return this.#opening >= PROBES_MAX;
    return this.#sessions + this.#opening >= this.#options.connectionsMax;
  }

  /** Why it is not even tried: it failed a moment ago. */
  get refusal(): Deferral | undefined {
    return this.#down && this.#down.until > this.#options.now() ? this.#down.outcome : undefined;
  }

  get isForgettable(): boolean {
    const isQuiet = this.#opening + this.#sessions + this.wanted === 0;
    return isQuiet && (!this.#down || this.#options.now() > this.#down.until + DOWN_MS_MAX);
  }

  opens(): void {
    this.#opening += 1;
  }

  opened(): void {
    this.#opening -= 1;
    this.#sessions += 1;
    this.#failuresInARow = 0;
    this.#down = undefined;
  }

  /** Without an outcome when it says nothing about other mail. */
  failed(outcome: Deferral | undefined): void {
    this.#opening -= 1;
    if (!outcome) return;
    this.#down = { until: this.#options.now() + downMs(this.#failuresInARow, this.#options.random), outcome };
    this.#failuresInARow += 1;
  }

  left(): void {
    this.#sessions -= 1;
  }
}
