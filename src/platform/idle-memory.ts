/**
 * V8 collects garbage while objects are allocated, so an idle server keeps the garbage of its last load: some 50 MB
 * that it does not need. This collects it once the server is idle.
 */
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { repeat, type Clock } from './clock.ts';

const LOOK_MS = 2000;
/** Maximum share of the time between two checks that the thread was busy. */
const BUSY_SHARE_MAX = 0.05;
/** Less than this is not worth the pause of a tenth of a second. */
const WORTH_BYTES = 24 * 1024 * 1024;

interface Surroundings {
  /** Returns the share of the time since the last call that the thread was busy, from 0 to 1. */
  busyShare(): number;
  heapBytes(): number;
  collect(): void;
}

/** Returns the function that ends it. */
export function collectWhenIdle(clock: Clock, around: Surroundings = thisProcess()): () => void {
  const { busyShare, heapBytes, collect } = around;
  let kept = 0;
  return repeat(clock, LOOK_MS, async () => {
    const isIdle = busyShare() <= BUSY_SHARE_MAX;
    if (!isIdle || heapBytes() - kept < WORTH_BYTES) return;
    collect();
    kept = heapBytes();
  });
}

export function thisProcess(): Surroundings {
  let gc: typeof globalThis.gc;
  let before = performance.eventLoopUtilization();
  return {
    busyShare() {
      const now = performance.eventLoopUtilization();
      const { utilization } = performance.eventLoopUtilization(now, before);
      before = now;
      return utilization;
    },
    heapBytes: () => getHeapStatistics().total_physical_size,
    // Collects as if memory were exhausted: an ordinary collection leaves pages half empty, and returns hardly any of
    // them.
    collect: () => void (gc ??= collector())?.({ type: 'major', execution: 'sync', flavor: 'last-resort' }),
  };
}

/**
 * Returns the function that `--expose-gc` provides. Setting that flag at start would make V8 reject the compiled code
 * of Node's own modules, which costs a seventh of a command's time; for the same reason the flag is reset here.
 */
function collector(): typeof globalThis.gc {
  setFlagsFromString('--expose-gc');
  try {
    return runInNewContext('gc') as typeof globalThis.gc;
  } finally {
    setFlagsFromString('--no-expose-gc');
  }
}
