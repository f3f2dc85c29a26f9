import { LOOP_DELAY_MS_MAX, type LoopDelay } from '../../platform/loop-delay.ts';

const SIZE_MIN = 16;
const ADJUST_MS = 200;
const SHRINK = 0.75;
const GROW = 1.2;
/** More is claimed when this part of the window is free, because each claim costs a commit. */
const CLAIM_SHARE = 0.3;
/** A delivery that takes longer waits for its receiver, which costs the event loop nothing, and is not counted any more. */
const SLOW_MS = 1000;

/**
 * Limits how much marketing mail is in flight: it grows as long as the event loop is on time, and shrinks when it is late. Every step
 * of a delivery waits for those of all others that are ready, and a transactional message has about twenty steps.
 */
export class BulkWindow {
  readonly #sizeMax: number;
  readonly #delay: Pick<LoopDelay, 'recentMs'>;
  readonly #now: () => number;
  #size: number;
  /** Maps the counted deliveries to the times at which they began, the oldest first. */
  readonly #counted = new Map<object, number>();
  #adjustedAt = Number.NEGATIVE_INFINITY;
  /** True while more is due than the window let begin. */
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

  /** Returns how many of `wanted` may begin. */
  admit(wanted: number): number {
    if (wanted === 0) return 0;
    this.#forgetSlow();
    this.#adjust();
    const free = this.size - this.#counted.size;
    this.#isShort = free < wanted;
    return free < Math.min(wanted, this.size * CLAIM_SHARE) ? 0 : Math.min(wanted, free);
  }

  /** Counts a delivery. The returned function ends it, and returns true if enough is free again for another claim. */
  begin(): () => boolean {
    const delivery = {};
    this.#counted.set(delivery, this.#now());
    return () => {
      this.#counted.delete(delivery);
      if (!this.#isShort || this.size - this.#counted.size < this.size * CLAIM_SHARE) return false;
      this.#isShort = false;
      return true;
    };
  }

  #forgetSlow(): void {
    const before = this.#now() - SLOW_MS;
    for (const [delivery, beganAt] of this.#counted) {
      if (beganAt > before) return;
      this.#counted.delete(delivery);
    }
  }

  #adjust(): void {
    const steps = Math.min(50, Math.floor((this.#now() - this.#adjustedAt) / ADJUST_MS));
    if (steps < 1) return;
    this.#adjustedAt = this.#now();
    const delayMs = this.#delay.recentMs();
    if (delayMs > LOOP_DELAY_MS_MAX) this.#size = Math.max(SIZE_MIN, Math.min(this.#size, this.#counted.size) * SHRINK);
    else if (delayMs < LOOP_DELAY_MS_MAX / 2) this.#size *= GROW ** steps;
    this.#size = Math.min(this.#size, this.#sizeMax);
  }
}
