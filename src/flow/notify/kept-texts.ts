/** Texts by key, as many as fit; those kept longest go first. */
export interface KeptTexts {
  get(key: string): string | undefined;
  keep(key: string, text: string): void;
  /** Characters, which is what it is bounded by. */
  size(): number;
}

/** An entry is not free of charge, however short its text is. */
const CHARS_AN_ENTRY = 256;

export function createKeptTexts(charsMax: number): KeptTexts {
  const texts = new Map<string, string>();
  let chars = 0;

  function drop(key: string): void {
    const text = texts.get(key);
    if (text === undefined) return;
    texts.delete(key);
    chars -= text.length + CHARS_AN_ENTRY;
  }

  return {
    get: (key) => texts.get(key),
    keep(key, text) {
      drop(key);
      texts.set(key, text);
      chars += text.length + CHARS_AN_ENTRY;
      for (const oldest of texts.keys()) {
        if (chars <= charsMax) break;
        drop(oldest);
      }
    },
    size: () => chars,
  };
}
