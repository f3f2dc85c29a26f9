const watched = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Runs `act` when the signal fires; the returned function cancels that. Thousands of deliveries share one shutdown
 * signal, and adding and removing an event listener for each would cost more than the rest of the bookkeeping.
 */
export function onAbort(signal: AbortSignal, act: () => void): () => void {
  if (signal.aborted) {
    act();
    return () => undefined;
  }
  let acts = watched.get(signal);
  if (!acts) {
    const all = new Set<() => void>();
    acts = all;
    watched.set(signal, all);
    signal.addEventListener('abort', () => [...all].forEach((each) => each()), { once: true });
  }
  acts.add(act);
  return () => void acts.delete(act);
}
