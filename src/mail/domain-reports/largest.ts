/**
 * Adds up entries by key and keeps the largest, whatever number of keys comes: with twice `max` entries, the smaller
 * half is dropped. `compare` sorts the larger entry first. An entry that was dropped and comes again begins anew.
 */
export function createLargest<Entry>(max: number, compare: (a: Entry, b: Entry) => number) {
  let entries = new Map<string, Entry>();
  let hasDropped = false;

  function keepLargest(): void {
    if (entries.size <= max) return;
    entries = new Map([...entries].sort(([, a], [, b]) => compare(a, b)).slice(0, max));
    hasDropped = true;
  }

  return {
    /** Returns the entry of a key for the caller to add to. */
    findOrAdd(key: string, create: () => Entry): Entry {
      const known = entries.get(key);
      if (known) return known;
      if (entries.size >= 2 * max) keepLargest();
      const entry = create();
      entries.set(key, entry);
      return entry;
    },
    /** Lists the `max` largest entries, the largest first. */
    list(): Entry[] {
      keepLargest();
      return [...entries.values()].sort(compare);
    },
    hasDropped: () => hasDropped || entries.size > max,
  };
}
