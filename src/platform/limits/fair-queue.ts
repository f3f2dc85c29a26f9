import { Deque } from './deque.ts';

/**
 * A queue that hands out its items round robin by tenant, so that a tenant that adds many waits for itself. Within a tenant,
 * items leave in the order in which they were pushed.
 */
export interface FairQueue<T> {
  readonly size: number;
  /** The weight of all items together. */
  readonly weight: number;
  countWaiting(tenant: string): number;
  push(item: T, place?: Place): void;
  /** Returns the item that `shift` would remove. */
  peek(): T | undefined;
  shift(): T | undefined;
  /** Removes and returns as many items as fit into `weightMax`, and always one: one item of each tenant a round. */
  take(weightMax: number): T[];
  /** Removes an item that need not wait any longer; false where it is not in the queue. */
  remove(item: T, tenant?: string): boolean;
}

/** Where an item stands among those that wait. */
export interface Place {
  /** The tenant it belongs to; items without one belong to one tenant together. */
  tenant?: string | undefined;
  /** 1, if it is not given. */
  weight?: number;
  /** Taken before the other items of its tenant. */
  isFirst?: boolean;
  /** Taken after the other items of its tenant, even those that are pushed after it; `OTHERS_FOR_LATER` limits its wait. */
  isLater?: boolean;
}

/** A later item waits until other items of its tenant, of so many times its weight, were taken before it; then it is next. */
const OTHERS_FOR_LATER = 4;

interface Waiting<T> {
  item: T;
  weight: number;
}

interface Line<T> {
  tenant: string;
  usual: Deque<Waiting<T>>;
  later: Deque<Waiting<T>>;
  /** The weight of usual items taken while the first later one waited. */
  passed: number;
}

export function createFairQueue<T>(): FairQueue<T> {
  /** The tenant that is served next comes first. */
  const lines = new Map<string, Line<T>>();
  let size = 0;
  let weight = 0;

  /** Removes the next item of a tenant, which goes behind the other tenants. */
  function takeFrom(line: Line<T>, next: Waiting<T>): T {
    if (line.later.first === next) {
      line.later.shift();
      line.passed = 0;
    } else {
      line.usual.shift();
      if (line.later.length > 0) line.passed += next.weight;
    }
    size--;
    weight -= next.weight;
    // A tenant that waits alone stays where it is.
    const isAlone = lines.size === 1;
    const isEmpty = line.usual.length === 0 && line.later.length === 0;
    if (isEmpty || !isAlone) lines.delete(line.tenant);
    if (!isEmpty && !isAlone) lines.set(line.tenant, line);
    return next.item;
  }

  return {
    get size() {
      return size;
    },
    get weight() {
      return weight;
    },
    countWaiting(tenant) {
      const line = lines.get(tenant);
      return line ? line.usual.length + line.later.length : 0;
    },
    push(item, { tenant = '', weight: itsWeight = 1, isFirst = false, isLater = false } = {}) {
      let line = lines.get(tenant);
      if (!line) {
        line = { tenant, usual: new Deque(), later: new Deque(), passed: 0 };
        lines.set(tenant, line);
      }
      const waiting = { item, weight: itsWeight };
      if (isFirst) line.usual.unshift(waiting);
      else if (isLater) line.later.push(waiting);
      else line.usual.push(waiting);
      size++;
      weight += itsWeight;
    },
    peek() {
      for (const line of lines.values()) return pickNext(line)?.item;
      return undefined;
    },
    shift() {
      for (const line of lines.values()) {
        const next = pickNext(line);
        if (next) return takeFrom(line, next);
      }
      return undefined;
    },
    take(weightMax) {
      const taken: T[] = [];
      let sum = 0;
      for (let before = -1; before < taken.length;) {
        before = taken.length;
        // A tenant whose next item does not fit keeps its place, so that it is first the next time.
        for (const line of [...lines.values()]) {
          const next = pickNext(line);
          if (!next || (taken.length > 0 && sum + next.weight > weightMax)) continue;
          taken.push(takeFrom(line, next));
          sum += next.weight;
        }
      }
      return taken;
    },
    remove(item, tenant = '') {
      const line = lines.get(tenant);
      if (!line) return false;
      for (const items of [line.usual, line.later]) {
        const { first } = items;
        const removed = items.remove((waiting) => waiting.item === item);
        if (!removed) continue;
        if (items === line.later && removed === first) line.passed = 0;
        size--;
        weight -= removed.weight;
        if (line.usual.length + line.later.length === 0) lines.delete(tenant);
        return true;
      }
      return false;
    },
  };
}

function pickNext<T>({ usual, later, passed }: Line<T>): Waiting<T> | undefined {
  const { first } = later;
  const isDue = first !== undefined && passed >= first.weight * OTHERS_FOR_LATER;
  return isDue ? first : (usual.first ?? first);
}
