import { nextTurn } from '../../src/platform/clock/index.ts';

/** Processor time that this thread has used, in milliseconds: what else the machine does makes it no longer. */
export function usedMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

/** How long the longest turn of the event loop was while the work was under way, in processor time of this thread. */
export async function longestStretch(work: () => Promise<unknown>): Promise<number> {
  let isOver = false;
  const working = work().finally(() => (isOver = true));
  let longest = 0;
  for (let before = usedMs(); !isOver;) {
    await nextTurn();
    const now = usedMs();
    longest = Math.max(longest, now - before);
    before = now;
  }
  await working;
  return longest;
}
