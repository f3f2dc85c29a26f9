import { stopwatch, nextTurn } from '../clock.ts';

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

/** Divides the turns of the event loop among parties that have much to do in this thread. */
export interface LoopTurns {
  /**
   * Runs a piece of work, `amount` of it, in a turn that has time for it, round robin by party. A piece that goes on with what
   * its party has begun comes before its other pieces.
   */
  run<T>(piece: { party: string; amount: number; goesOn: boolean }, work: () => Promise<T> | T): Promise<T>;
}

/**
 * In one turn of the event loop pieces are begun, one after the other, until they come to `perTurn`. A piece that waits for
 * something else, such as the database, holds up the others until the next turn at most.
 */
export function createLoopTurns(perTurn: number): LoopTurns {
  const queue = createFairQueue<() => void>();
  let used = 0;
  let isCounting = false;
  let current: object | undefined;

  function begin(piece: object, amount: number): void {
    current = piece;
    used += amount;
    if (isCounting) return;
    isCounting = true;
    void nextTurn().then(endTurn);
  }

  function endTurn(): void {
    isCounting = false;
    used = 0;
    current = undefined;
    serve();
  }

  function serve(): void {
    if (current === undefined && used < perTurn) queue.shift()?.();
  }

  return {
    async run(piece, work) {
      const { party, amount, goesOn } = piece;
      const isFree = current === undefined && used < perTurn && queue.size === 0;
      if (isFree) begin(piece, amount);
      else {
        await new Promise<void>((resolve) => {
          const go = (): void => {
            begin(piece, amount);
            resolve();
          };
          if (goesOn) queue.pushFirst(party, go);
          else queue.push(party, go);
        });
      }
      try {
        return await work();
      } finally {
        // A tick later, its party's next piece is in the queue.
        process.nextTick(() => {
          if (current !== piece) return;
          current = undefined;
          serve();
        });
      }
    },
  };
}

/** A capacity that tasks of different sizes share, round robin by party. One larger than all of it goes alone. */
export interface FairTurns {
  readonly used: number;
  /** Resolves when the turn has come; call what it answers when the task is over. */
  take(party: string, amount: number): Promise<() => void>;
}

/** Nothing is overtaken: the task whose turn it is waits until there is enough for it, and the others behind it. */
export function createFairTurns(capacity: number): FairTurns {
  const queue = createFairQueue<{ amount: number; go: () => void }>();
  let next: { amount: number; go: () => void } | undefined;
  let used = 0;

  function serve(): void {
    for (next ??= queue.shift(); next && used + next.amount <= capacity; next = queue.shift()) {
      used += next.amount;
      next.go();
    }
  }

  return {
    get used() {
      return used;
    },
    async take(party, wanted) {
      const amount = Math.min(Math.ceil(wanted), capacity);
      await new Promise<void>((go) => {
        queue.push(party, { amount, go });
        serve();
      });
      let isOver = false;
      return () => {
        if (isOver) return;
        isOver = true;
        used -= amount;
        serve();
      };
    },
  };
}

/** Runs tasks, a few at a time, round robin by party. */
export interface FairExecutor {
  /** How many tasks of a party wait. */
  waitingOf(party: string): number;
  run<T>(party: string, task: () => Promise<T> | T): Promise<T>;
}

/**
 * After each task, the next one waits for `pauseAfter`; the pause leaves the processor to other work. The caller of the task
 * has its answer before the pause.
 */
export function createFairExecutor(
  concurrency: number,
  pauseAfter: (task: { tookMs: number; isWaiting: boolean }) => Promise<void>,
): FairExecutor {
  const queue = createFairQueue<() => void>();
  let running = 0;
  return {
    waitingOf: queue.sizeOf,
    async run(party, task) {
      if (running < concurrency) running++;
      else await new Promise<void>((go) => queue.push(party, go));
      const elapsedMs = stopwatch();
      try {
        return await task();
      } finally {
        void pauseAfter({ tookMs: elapsedMs(), isWaiting: queue.size > 0 }).then(() => {
          const next = queue.shift();
          if (next) next();
          else running--;
        });
      }
    },
  };
}

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
