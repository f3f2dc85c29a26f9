import { systemClock } from '../clock/index.ts';
import { ObjectStoreFault } from './fault.ts';

/** A bound on what is under way at once; a request that waits longer than `waitMs` for a slot gets a fault instead. */
export function createSlots(max: number, waitMs: number): <T>(work: () => Promise<T>) => Promise<T> {
  let free = max;
  const waiting = new Set<() => void>();

  async function take(): Promise<void> {
    if (free > 0) return void free--;
    await new Promise<void>((resolve, reject) => {
      const go = (): void => {
        cancel();
        waiting.delete(go);
        resolve();
      };
      const cancel = systemClock.timer(waitMs, () => {
        waiting.delete(go);
        const says = `${max} requests to the blob store are under way (blobs.requests_max), and none ended within ${waitMs / 1000} s`;
        reject(new ObjectStoreFault(says, { isTransient: false }));
      });
      waiting.add(go);
    });
  }

  function giveBack(): void {
    const [next] = waiting;
    // The slot passes to the next that waits, with no gap for a newcomer.
    if (next) next();
    else free++;
  }

  return async (work) => {
    await take();
    try {
      return await work();
    } finally {
      giveBack();
    }
  };
}
