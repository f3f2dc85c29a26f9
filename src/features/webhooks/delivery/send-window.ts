/** One endpoint's limit of requests under way. It begins with one: an endpoint that keeps up gets events in order. */
export interface SendWindow {
  readonly size: number;
  /** A success after `tookMs`; `isBehind` says that more events are waiting than are read ahead. */
  succeeded(tookMs: number, isBehind: boolean): void;
  failed(): void;
}

/** An endpoint that takes this long is busy; more requests at once would only hold places that others could use. */
const SLOW_MS = 1000;
/** Answers this much slower than the quickest one are queued somewhere, and a larger window makes the queue longer. */
const LINE_FACTOR = 2;
const LINE_MS = 10;

/**
 * Additive increase, multiplicative decrease, as in RFC 5681 §3.1: the window doubles with each round until the first
 * failure, and grows by one a round after that. It grows only as long as answers come about as quickly as they did one
 * by one. Any failure halves it, and so does any slow success: an answer after a second or more holds a slot as long
 * as a failure would, however quick the endpoint was before.
 */
export function createSendWindow(max: number): SendWindow {
  let size = 1;
  let threshold = max;
  let quickestMs = Infinity;
  const shrink = (): void => {
    threshold = Math.max(1, size / 2);
    size = threshold;
  };
  return {
    get size() {
      return Math.floor(size);
    },
    succeeded(tookMs, isBehind) {
      quickestMs = Math.min(quickestMs, tookMs);
      if (tookMs > SLOW_MS) return shrink();
      if (!isBehind || tookMs > quickestMs * LINE_FACTOR + LINE_MS) return;
      size = Math.min(max, size + (size < threshold ? 1 : 1 / size));
    },
    failed: shrink,
  };
}
