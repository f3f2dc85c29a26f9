/**
 * V8 collects as objects are made, so that a server that has become idle keeps what its last load left behind: some 50 MB
 * that it does not need. Once there is nothing to do, it is collected.
 */
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { repeat, type Clock } from './clock.ts';

const LOOK_MS = 2000;
/** Of the time between two looks that the one thread was busy. */
const BUSY_SHARE_MAX = 0.05;
/** Less than this is not worth the pause, which is a tenth of a second. */
const WORTH_BYTES = 24 * 1024 * 1024;

interface Surroundings {
  /** The share of the time since the last call that the thread was busy, from 0 to 1. */
  busyShare(): number;
  heapBytes(): number;
  collect(): void;
}

/** The function returned ends it. */
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
    // As if memory ran out: a usual collection leaves pages half empty, and gives hardly any of them back.
    collect: () => void (gc ??= collector())?.({ type: 'major', execution: 'sync', flavor: 'last-resort' }),
  };
}

/**
 * As `--expose-gc` gives it. That flag at the start would make V8 refuse the compiled code that Node carries of its own modules, a
 * seventh of what a command costs; the flag is taken back for the same reason.
 */
function collector(): typeof globalThis.gc {
  setFlagsFromString('--expose-gc');
  try {
    return runInNewContext('gc') as typeof globalThis.gc;
  } finally {
    setFlagsFromString('--no-expose-gc');
  }
}
