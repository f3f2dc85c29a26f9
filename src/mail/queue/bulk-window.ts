import { LOOP_DELAY_MS_MAX, type LoopDelay } from '../../platform/loop-delay.ts';

const SIZE_MIN = 16;
const ADJUST_MS = 200;
const SHRINK = 0.75;
const GROW = 1.2;
/** The part of the window that is free before more is claimed. */
const CLAIM_SHARE = 0.3;
/** So often some more may begin although the window is full: those in flight may be slow ones, which cost the loop nothing. */
const EXTRA_MS = 1000;

/**
 * How much marketing mail may be in flight. It grows as long as the event loop is on time, and shrinks when it is late: every step of a
 * delivery waits for those of all others that are ready, and a transactional message has about twenty steps.
 */
export class BulkWindow {
  readonly #sizeMax: number;
  readonly #delay: Pick<LoopDelay, 'recentMs'>;
  readonly #now: () => number;
  #size: number;
  #inFlight = 0;
  #adjustedAt = Number.NEGATIVE_INFINITY;
  #extraAt = Number.NEGATIVE_INFINITY;
  /** More was due than the window let begin. */
  #isShort = false;

  constructor(sizeMax: number, delay: Pick<LoopDelay, 'recentMs'>, now: () => number) {
    this.#sizeMax = sizeMax;
    this.#size = sizeMax;
    this.#delay = delay;
    this.#now = now;
  }

  get size(): number {
    return Math.floor(this.#size);
  }

  /** Returns how many of `wanted` may begin: some at once, because each claim costs a commit. */
  admit(wanted: number): number {
    if (wanted === 0) return 0;
    this.#adjust();
    const free = this.size - this.#inFlight;
    this.#isShort = free < wanted;
    if (free >= Math.min(wanted, this.size * CLAIM_SHARE)) return Math.min(wanted, free);
    if (this.#now() - this.#extraAt < EXTRA_MS) return 0;
    this.#extraAt = this.#now();
    return Math.min(wanted, SIZE_MIN);
  }

  begin(): void {
    this.#inFlight += 1;
  }

  /** Counts the end of a delivery; returns true if enough is free again for another claim. */
  end(): boolean {
    this.#inFlight -= 1;
    if (!this.#isShort || this.size - this.#inFlight < this.size * CLAIM_SHARE) return false;
    this.#isShort = false;
    return true;
  }

  #adjust(): void {
    const now = this.#now();
    if (now - this.#adjustedAt < ADJUST_MS) return;
    this.#adjustedAt = now;
    const delayMs = this.#delay.recentMs();
    if (delayMs > LOOP_DELAY_MS_MAX) this.#size = Math.max(SIZE_MIN, Math.min(this.#size, this.#inFlight) * SHRINK);
    else if (delayMs < LOOP_DELAY_MS_MAX / 2) this.#size *= GROW;
    this.#size = Math.min(this.#size, this.#sizeMax);
  }
}
