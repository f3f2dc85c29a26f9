const REMEMBERED_MAX = 10_000;

/**
 * Names that get a label of their own. A label is a time series that a Prometheus keeps for weeks, and names come from outside:
 * a name gets one once it was met so often, while there are slots; every other is "other". A slot is never taken away again,
 * because a counter that disappears and comes back reads as a restart.
 */
export function createLabelSlots(options: {
  slots: number;
  threshold: number;
}): (name: string, times: number) => string {
  const named = new Set<string>();
  const met = new Map<string, number>();
  return (name, times) => {
    if (named.has(name)) return name;
    if (named.size >= options.slots) return OTHER;
    const count = (met.get(name) ?? 0) + times;
    if (count >= options.threshold) {
      named.add(name);
      met.delete(name);
      return name;
    }
    if (met.size >= REMEMBERED_MAX) met.clear();
    met.set(name, count);
    return OTHER;
  };
}

const OTHER = 'other';
