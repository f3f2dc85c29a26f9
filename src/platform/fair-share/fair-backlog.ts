/** Waiting items of several parties, taken many at a time. */
export interface FairBacklog<T> {
  /** How many wait. */
  readonly size: number;
  /** The weight of all that wait. */
  readonly weight: number;
  push(item: T, place?: Place): void;
  /** As many as fit into `weightMax`, and always one: round robin by party, one item of each party a round. */
  take(weightMax: number): T[];
}

/** Where an item stands among those that wait. */
export interface Place {
  /** The party it belongs to; items without one are one party together. */
  party?: string;
  /** 1, if it is not given. */
  weight?: number;
  /** Taken after the other items of its party, even those that are pushed after it; `OTHERS_FOR_LATER` limits its wait. */
  isLater?: boolean;
}

/** A later item waits until other items of its party, of so many times its weight, were taken before it; then it is next. */
const OTHERS_FOR_LATER = 4;

interface Waiting<T> {
  item: T;
  weight: number;
}

interface Party<T> {
  usual: Waiting<T>[];
  later: Waiting<T>[];
  /** The weight of usual items taken while the first later one waited. */
  passed: number;
}

/** Within a party, items are taken in the order in which they were pushed; later ones (`isLater`) after the others. */
export function createFairBacklog<T>(): FairBacklog<T> {
  /** The party that is served next comes first. */
  const parties = new Map<string, Party<T>>();
  let size = 0;
  let weight = 0;

  function remove(name: string, party: Party<T>, next: Waiting<T>): void {
    if (party.later[0] === next) {
      party.later.shift();
      party.passed = 0;
    } else {
      party.usual.shift();
      if (party.later.length > 0) party.passed += next.weight;
    }
    parties.delete(name);
    if (party.usual.length + party.later.length > 0) parties.set(name, party);
    size--;
    weight -= next.weight;
  }

  return {
    get size() {
      return size;
    },
    get weight() {
      return weight;
    },
    push(item, { party: name = '', weight: its = 1, isLater = false } = {}) {
      let party = parties.get(name);
      if (!party) parties.set(name, (party = { usual: [], later: [], passed: 0 }));
      (isLater ? party.later : party.usual).push({ item, weight: its });
      size++;
      weight += its;
    },
    take(weightMax) {
      const taken: T[] = [];
      let sum = 0;
      for (let before = -1; before < taken.length;) {
        before = taken.length;
        // A party whose next item does not fit keeps its place, so that it is first the next time.
        for (const [name, party] of [...parties]) {
          const next = nextOf(party);
          if (!next || (taken.length > 0 && sum + next.weight > weightMax)) continue;
          remove(name, party, next);
          taken.push(next.item);
          sum += next.weight;
        }
      }
      return taken;
    },
  };
}

function nextOf<T>({ usual, later, passed }: Party<T>): Waiting<T> | undefined {
  const [first] = later;
  const isDue = first !== undefined && passed >= first.weight * OTHERS_FOR_LATER;
  return isDue ? first : (usual[0] ?? first);
}
