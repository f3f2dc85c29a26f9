/** How many requests one endpoint may have under way. It begins with one, so that an endpoint in step gets events in order. */
export interface SendWindow {
  readonly size: number;
  /** Answered with success after `tookMs`; `isBehind` says that more is waiting than is read ahead. */
  succeeded(tookMs: number, isBehind: boolean): void;
  failed(): void;
}

/** An endpoint that takes this long has enough to do; more at once would only hold what others could use. */
const SLOW_MS = 1000;
/** Answers that take this much longer than the quickest one wait in a line, ours or theirs, and a window only makes it longer. */
const LINE_FACTOR = 2;
const LINE_MS = 10;

/**
 * Additive increase, multiplicative decrease, as in RFC 5681 §3.1: it doubles with each round until the first trouble, and
 * grows by one a round after that. It grows only as long as answers come about as quickly as they did one by one. Any
 * failure halves it, and so does any slow success: what is answered in a second or more holds a slot as long as a
 * failure would, and an endpoint that was quick until its window was wide is worth no more than one that never was.
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
