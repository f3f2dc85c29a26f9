import { PerformanceObserver, type PerformanceEntry } from 'node:perf_hooks';
import { nextTurn } from '../../src/platform/clock.ts';

/** Returns the processor time of this thread in milliseconds, which other load on the machine does not change. */
export function usedMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

/** Shorter turns are not kept: there are a hundred thousand of them. */
const NOTEWORTHY_MS = 1;

interface Turn {
  from: number;
  to: number;
  usedMs: number;
}

/**
 * Returns the longest turn of the event loop during the work, in processor time of this thread without garbage
 * collections: how long these take depends on what earlier files left in the process, not on the work.
 */
export async function longestStretch(work: () => Promise<unknown>): Promise<number> {
  const collections: PerformanceEntry[] = [];
  const observer = new PerformanceObserver((list) => void collections.push(...list.getEntries()));
  observer.observe({ entryTypes: ['gc'] });
  const turns: Turn[] = [];
  let isOver = false;
  const working = work().finally(() => (isOver = true));
  for (let [from, before] = [performance.now(), usedMs()]; !isOver;) {
    await nextTurn();
    const [to, now] = [performance.now(), usedMs()];
    if (now - before > NOTEWORTHY_MS) turns.push({ from, to, usedMs: now - before });
    [from, before] = [to, now];
  }
  await working;
  // Node.js reports a collection in a later turn.
  await nextTurn();
  collections.push(...observer.takeRecords());
  observer.disconnect();
  return Math.max(NOTEWORTHY_MS, ...turns.map((turn) => turn.usedMs - collectingMs(turn, collections)));
}

function collectingMs({ from, to }: Turn, collections: readonly PerformanceEntry[]): number {
  let ms = 0;
  for (const { startTime, duration } of collections) {
    ms += Math.max(0, Math.min(to, startTime + duration) - Math.max(from, startTime));
  }
  return ms;
}
