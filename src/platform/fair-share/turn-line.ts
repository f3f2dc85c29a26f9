/** What waits, taken in turns of those who brought it: who brings much waits for itself. */
export interface TurnLine<T> {
  readonly size: number;
  sizeOf(party: string): number;
  push(party: string, one: T): void;
  shift(): T | undefined;
}

export function createTurnLine<T>(): TurnLine<T> {
  /** Whose turn is next comes first. */
  const lines = new Map<string, T[]>();
  let size = 0;
  return {
    get size() {
      return size;
    },
    sizeOf: (party) => lines.get(party)?.length ?? 0,
    push(party, one) {
      const line = lines.get(party);
      if (line) line.push(one);
      else lines.set(party, [one]);
      size++;
    },
    shift() {
      for (const [party, line] of lines) {
        const one = line.shift();
        lines.delete(party);
        if (line.length > 0) lines.set(party, line);
        size--;
        return one;
      }
      return undefined;
    },
  };
}
