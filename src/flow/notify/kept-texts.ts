/** Texts by key, as many as fit; those kept longest go first. */
export interface KeptTexts {
  get(key: string): string | undefined;
  keep(key: string, text: string): void;
  /** Characters, which is what it is bounded by. */
  size(): number;
}

/** An entry is not free of charge, however short its text is. */
const CHARS_AN_ENTRY = 256;

/**
 * In two halves: when the newer one is full, the older one is let go as a whole. A Map that loses its first entry again
 * and again would look past all that it has lost for the next one.
 */
export function createKeptTexts(charsMax: number): KeptTexts {
  const halfMax = charsMax / 2;
  let newer = new Map<string, string>();
  let newerChars = 0;
  let older = new Map<string, string>();
  let olderChars = 0;

  /** Of the newer ones: what the older ones say of the same key is hidden by them, and goes first. */
  function forget(key: string): void {
    const text = newer.get(key);
    if (text === undefined) return;
    newer.delete(key);
    newerChars -= charsOf(text);
  }

  return {
    get: (key) => newer.get(key) ?? older.get(key),
    keep(key, text) {
      const chars = charsOf(text);
      forget(key);
      if (chars > halfMax) return;
      if (newerChars + chars > halfMax) {
        [older, olderChars] = [newer, newerChars];
        [newer, newerChars] = [new Map(), 0];
      }
      newer.set(key, text);
      newerChars += chars;
    },
    size: () => newerChars + olderChars,
  };
}

const charsOf = (text: string): number => text.length + CHARS_AN_ENTRY;
