/** A queue that hands out its items round robin by party: a party that adds many waits for itself. */
export interface FairQueue<T> {
  readonly size: number;
  sizeOf(party: string): number;
  push(party: string, item: T): void;
  /** Ahead of the party's other items. */
  pushFirst(party: string, item: T): void;
  shift(): T | undefined;
}

export function createFairQueue<T>(): FairQueue<T> {
  /** The party that is served next comes first. */
  const queues = new Map<string, T[]>();
  let size = 0;
  return {
    get size() {
      return size;
    },
    sizeOf: (party) => queues.get(party)?.length ?? 0,
    push(party, item) {
      const queue = queues.get(party);
      if (queue) queue.push(item);
      else queues.set(party, [item]);
      size++;
    },
    pushFirst(party, item) {
      const queue = queues.get(party);
      if (queue) queue.unshift(item);
      else queues.set(party, [item]);
      size++;
    },
    shift() {
      for (const [party, queue] of queues) {
        const item = queue.shift();
        queues.delete(party);
        if (queue.length > 0) queues.set(party, queue);
        size--;
        return item;
      }
      return undefined;
    },
  };
}
