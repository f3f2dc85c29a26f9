/**
 * V8 collects as objects are made, so that a server that has become idle keeps what its last load left behind: some 50 MB
 * that it does not need. Once there is nothing to do, it is collected.
 */
import { getHeapStatistics } from 'node:v8';
import { repeat, type Clock } from '../clock/index.ts';

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

/** The function returned ends it. Without `--expose-gc` there is nothing to call. */
export function collectWhenIdle(clock: Clock, around: Surroundings | undefined = ofThisProcess()): () => void {
  if (!around) return () => undefined;
  const { busyShare, heapBytes, collect } = around;
  let kept = 0;
  return repeat(clock, LOOK_MS, async () => {
    const isIdle = busyShare() <= BUSY_SHARE_MAX;
    if (!isIdle || heapBytes() - kept < WORTH_BYTES) return;
    collect();
    kept = heapBytes();
  });
}

function ofThisProcess(): Surroundings | undefined {
  const { gc } = globalThis;
  if (!gc) return undefined;
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
    collect: () => void gc({ type: 'major', execution: 'sync', flavor: 'last-resort' }),
  };
}
