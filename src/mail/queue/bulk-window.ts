import { BulkSize, type LoopDelay } from '../../platform/loop-delay.ts';

const SIZE_MIN = 16;
/** More is claimed when this part of the window is free, because each claim costs a commit. */
const CLAIM_SHARE = 0.3;
/** A delivery that takes longer waits for its receiver, which costs the event loop nothing, and is not counted any more. */
const SLOW_MS = 1000;

/**
 * Limits how much marketing mail is in flight: it grows as long as the event loop is on time, and shrinks when it is late. Every step
 * of a delivery waits for those of all others that are ready, and a transactional message has about twenty steps.
 */
export class BulkWindow {
  readonly #size: BulkSize;
  readonly #now: () => number;
  /** Maps the counted deliveries to the times at which they began, the oldest first. */
  readonly #counted = new Map<object, number>();
  /** True while more is due than the window let begin. */
  #isShort = false;

  constructor(sizeMax: number, delay: Pick<LoopDelay, 'recentMs'>, now: () => number) {
    this.#size = new BulkSize({ min: SIZE_MIN, max: sizeMax }, delay, now);
    this.#now = now;
  }

  get size(): number {
    return this.#size.current;
  }

  /** Returns how many of `wanted` may begin. */
  admit(wanted: number): number {
    if (wanted === 0) return 0;
    this.#forgetSlow();
    this.#size.adjust(this.#counted.size);
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
}
