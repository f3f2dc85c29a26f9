/** Runs at most `max` pieces of work at a time; the others wait in order. A signal that aborts ends its wait at once. */
export function createGate(max: number) {
  const waiting: (() => void)[] = [];
  let inside = 0;
  return async <T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> => {
    if (inside >= max) {
      await new Promise<void>((resolve) => {
        const go = (): void => {
          signal.removeEventListener('abort', leave);
          resolve();
        };
        const leave = (): void => {
          const at = waiting.indexOf(go);
          if (at >= 0) waiting.splice(at, 1);
          resolve();
        };
        waiting.push(go);
        signal.addEventListener('abort', leave, { once: true });
      });
    }
    inside++;
    try {
      return await work();
    } finally {
      inside--;
      waiting.shift()?.();
    }
  };
}

/** The returned function resolves its calls one after the other, each in a turn of the event loop of its own. */
export function createYieldBetween(): () => Promise<void> {
  let last: Promise<void> = Promise.resolve();
  return () => (last = last.then(() => new Promise((resolve) => setImmediate(resolve))));
}
