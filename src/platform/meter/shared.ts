const SHARED_MS = 1000;

/** Looks within a second share one, so that a hundred scrapes a second cost what one does. */
export function createShared<T>(now: () => number, look: () => Promise<T>): () => Promise<T> {
  let last: { at: number; value: Promise<T> } | undefined;
  return () => {
    const at = now();
    // The clock may have been set back.
    if (!last || at < last.at || at - last.at > SHARED_MS) last = { at, value: look() };
    return last.value;
  };
}
