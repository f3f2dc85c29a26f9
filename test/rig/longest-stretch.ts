import { nextTurn } from '../../src/platform/clock.ts';

/** Returns the processor time of this thread in milliseconds, which other load on the machine does not change. */
export function usedMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

/** Returns the longest turn of the event loop during the work, in processor time of this thread. */
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
