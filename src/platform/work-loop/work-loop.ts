import { isoTime, repeat, pauseFor, stopwatch, type Clock } from '../clock.ts';
import type { Log } from '../log/index.ts';
import { BoundedMap } from '../limits/index.ts';

/**
 *   new      ── start() ──────────────────────────────────> looking
 *   looking  ── wake(), while it looks or rests ──────────> woken
 *   looking  ── its claims have ended ────────────────────> resting
 *   woken    ── its claims and its rest have ended ───────> looking
 *   resting  ── over, and something has become due ───────> looking
 *   resting  ── over, or a claim has failed ──────────────> waiting
 *   waiting  ── wake(), the poll, something becomes due,
 *               or enough items in progress have ended ───> looking
 *   any      ── stop() ───────────────────────────────────> stopping
 *   stopping ── nothing is in progress any more ──────────> stopped
 *
 * Items in progress continue in every state; `resting` takes no time unless `pauseFor` is set.
 */
export type LoopState = 'new' | 'looking' | 'woken' | 'resting' | 'waiting' | 'stopping' | 'stopped';

export interface Claim<T> {
  /** Maximum number of items to take. */
  limit: number;
  /** Items in progress, which must not be claimed again. */
  inFlight: readonly T[];
  /** Aborts the items in progress. */
  signal: AbortSignal;
}

export interface Claimed<T> {
  items: readonly T[];
  /**
   * Due items that were not claimed. `more`: there were at least as many as requested, so the loop claims again at
   * once; `blocked`: the others must wait until some of the items in flight have ended.
   */
  left: 'nothing' | 'more' | 'blocked';
  /**
   * Returns when the next item becomes due that this claim has not seen. It is called for the last claim of a look,
   * once its items have begun.
   */
  nextAt?(): Promise<number | undefined>;
}

export interface WorkLoopOptions<T> {
  /** For the log, as is the text that describes an item. */
  name: string;
  describe?(item: T): object;
  clock: Clock;
  log: Pick<Log, 'error'>;
  /** Maximum time between two looks: what another process has stored waits no longer. */
  pollMs: number;
  /** Takes due items, under a lease if others could take them too. */
  claim(request: Claim<T>): Promise<Claimed<T>>;
  /**
   * Processes one item to its end; `signal` asks it to stop. An error is logged, and the item is looked at again with
   * the next poll.
   */
  process(item: T, signal: AbortSignal): Promise<void>;
  /** Called with items that were claimed while the loop was being stopped. */
  releaseUnstarted?(items: readonly T[], signal: AbortSignal): Promise<void>;
  /** Renews leases every `everyMs`, before they expire. Also called while nothing is in progress, and while stopping. */
  renew?: { everyMs: number; work(inFlight: readonly T[]): Promise<void> };
  /** Returns how many more items may be taken now. Unlimited if absent. */
  capacity?(): number;
  /** After a look that left items blocked, this many items must end before the next look. */
  endedPerLook?: number;
  /** For expensive looks: each is followed by a rest of this many times its own duration. */
  rest?: { perLook: number; msMax: number };
}

export interface WorkLoop<T = unknown> {
  start(): void;
  /** There may be something to do. */
  wake(): void;
  /** Claims nothing more, gives items in progress `graceMs` to end, aborts the remaining ones, and waits for them. */
  stop(graceMs: number): Promise<void>;
  inFlight(): number;
  /** The items in progress. */
  items(): readonly T[];
  /** Resolves when no due item can be taken and nothing is in progress. */
  idle(): Promise<void>;
  state(): LoopState;
}

interface InProgress<T> {
  item: T;
  ended: Promise<void>;
}

const TELL_MS = 60_000;

class Loop<T> implements WorkLoop<T> {
  readonly #options: WorkLoopOptions<T>;
  readonly #interrupt = new AbortController();
  readonly #inProgress = new Set<InProgress<T>>();
  #state: LoopState = 'new';
  #look: Promise<void> = Promise.resolve();
  /** The last look left items blocked; the number of items that have ended since it began. */
  #isBlocked = false;
  #endedSinceLook = 0;
  /** Consecutive failed looks. */
  #failures: { since: number; count: number; toldAt: number } | undefined;
  #renewal: Promise<void> | undefined;
  #cancelTimer = (): void => undefined;
  #stopRenewing = (): void => undefined;
  #idleWaiters: (() => void)[] = [];

  constructor(options: WorkLoopOptions<T>) {
    this.#options = options;
  }

  state(): LoopState {
    return this.#state;
  }

  start(): void {
    const { renew, clock } = this.#options;
    if (renew) this.#stopRenewing = repeat(clock, renew.everyMs, () => this.#renew(renew.work));
    this.#state = 'waiting';
    this.wake();
  }

  wake(): void {
    if (this.#state === 'looking' || this.#state === 'resting') this.#state = 'woken';
    if (this.#state === 'waiting') this.#look = this.#pollUntilNothingIsDue();
  }

  async #pollUntilNothingIsDue(): Promise<void> {
    const { clock, pollMs } = this.#options;
    this.#cancelTimer();
    let nextAt = Infinity;
    try {
      do nextAt = await this.#pollOnce();
      while (this.state() === 'woken' || (nextAt <= clock.now() && !this.#isStopping()));
      this.#failures = undefined;
    } catch (error) {
      nextAt = Infinity;
      this.#logFailure(error);
    }
    if (!this.#isStopping()) {
      this.#state = 'waiting';
      this.#cancelTimer = clock.timer(Math.min(pollMs, nextAt - clock.now()), () => this.wake());
    }
    this.#notifyIdle();
  }

  /**
   * An unavailable database fails every poll of every loop for as long as it lasts, so log only some of the failures:
   * they must not fill the disk.
   */
  #logFailure(error: unknown): void {
    const { clock, log, name } = this.#options;
    const now = clock.now();
    const failures = (this.#failures ??= { since: now, count: 0, toldAt: -Infinity });
    failures.count += 1;
    if (now - failures.toldAt < TELL_MS) return;
    failures.toldAt = now;
    const before = failures.count === 1 ? {} : { times: failures.count, since: isoTime(failures.since) };
    log.error({ err: error, ...before }, `${name}: work could not be claimed`);
  }

  /** Returns when the next look is due: when an item becomes due, or at the poll interval after this look began. */
  async #pollOnce(): Promise<number> {
    const pollAt = this.#options.clock.now() + this.#options.pollMs;
    this.#state = 'looking';
    this.#isBlocked = false;
    this.#endedSinceLook = 0;
    const elapsedMs = stopwatch();
    const nextAt = await this.#claimAll();
    if (this.state() === 'looking') this.#state = 'resting';
    const { perLook, msMax } = this.#options.rest ?? { perLook: 0, msMax: 0 };
    if (perLook > 0 && !this.#isStopping()) await pauseFor(Math.min(msMax, elapsedMs() * perLook));
    return Math.min(pollAt, nextAt ?? Infinity);
  }

  async #claimAll(): Promise<number | undefined> {
    while (!this.#isStopping()) {
      const limit = this.#options.capacity?.() ?? Infinity;
      this.#isBlocked = limit <= 0;
      if (this.#isBlocked) return undefined;
      const { signal } = this.#interrupt;
      const { items, left, nextAt } = await this.#options.claim({ limit, inFlight: this.items(), signal });
      if (this.#isStopping()) return void (await this.#options.releaseUnstarted?.(items, signal));
      for (const item of items) this.#begin(item);
      this.#isBlocked = left === 'blocked';
      this.#wakeIfRoomWasMade();
      if (left !== 'more') return nextAt?.();
    }
    return undefined;
  }

  #begin(item: T): void {
    const carried: InProgress<T> = { item, ended: Promise.resolve() };
    this.#inProgress.add(carried);
    carried.ended = this.#process(carried);
  }

  async #process(carried: InProgress<T>): Promise<void> {
    let hasFailed = false;
    try {
      await this.#options.process(carried.item, this.#interrupt.signal);
    } catch (error) {
      hasFailed = true;
      const { log, name, describe } = this.#options;
      log.error({ err: error, ...describe?.(carried.item) }, `${name}: work could not be processed`);
    }
    this.#inProgress.delete(carried);
    this.#endedSinceLook++;
    // Retrying at once after a failure would most likely fail again.
    if (!hasFailed && this.#inProgress.size === 0) this.wake();
    else if (!hasFailed) this.#wakeIfRoomWasMade();
    this.#notifyIdle();
  }

  #wakeIfRoomWasMade(): void {
    if (this.#isBlocked && this.#endedSinceLook >= (this.#options.endedPerLook ?? 1)) this.wake();
  }

  async #renew(work: (inFlight: readonly T[]) => Promise<void>): Promise<void> {
    this.#renewal = work(this.items()).catch((error: unknown) => {
      this.#options.log.error({ err: error }, `${this.#options.name}: leases could not be renewed`);
    });
    await this.#renewal;
    this.#renewal = undefined;
    this.#notifyIdle();
  }

  async stop(graceMs: number): Promise<void> {
    if (this.#state === 'stopped') return;
    this.#state = 'stopping';
    this.#cancelTimer();
    if (graceMs <= 0) this.#interrupt.abort();
    const cancelGrace = this.#options.clock.timer(graceMs, () => this.#interrupt.abort());
    await this.#look;
    await Promise.all([...this.#inProgress].map(({ ended }) => ended));
    cancelGrace();
    this.#stopRenewing();
    await this.#renewal;
    this.#state = 'stopped';
    this.#notifyIdle();
  }

  inFlight(): number {
    return this.#inProgress.size;
  }

  async idle(): Promise<void> {
    if (!this.#isIdle()) await new Promise<void>((resolve) => this.#idleWaiters.push(resolve));
  }

  items(): readonly T[] {
    return [...this.#inProgress].map(({ item }) => item);
  }

  #isStopping(): boolean {
    return this.#state === 'stopping' || this.#state === 'stopped';
  }

  #isIdle(): boolean {
    const isQuiet = this.#state === 'waiting' || this.#state === 'new' || this.#state === 'stopped';
    return isQuiet && this.#inProgress.size === 0 && this.#renewal === undefined;
  }

  #notifyIdle(): void {
    if (this.#idleWaiters.length === 0 || !this.#isIdle()) return;
    for (const tell of this.#idleWaiters.splice(0)) tell();
  }
}

export const createWorkLoop = <T>(options: WorkLoopOptions<T>): WorkLoop<T> => new Loop(options);

/** Above this number, entries with the oldest turns are dropped and count as new. */
const KEPT_MAX = 10_000;

export interface Turns {
  /** Sorts items so that those whose owner's last turn is longest ago come first. */
  inTurn<Item>(items: readonly Item[], toOwner: (item: Item) => string): Item[];
  /** Records that these had their turn. */
  took(who: Iterable<string>): void;
}

/**
 * Remembers when each owner was last served, so that a long backlog of one does not delay the others. In memory only.
 */
export function createTurns(): Turns {
  const turns = new BoundedMap<string, number>(KEPT_MAX);
  let turn = 0;
  return {
    inTurn: (items, toOwner) => items.toSorted((a, b) => (turns.get(toOwner(a)) ?? 0) - (turns.get(toOwner(b)) ?? 0)),
    took(who) {
      for (const one of who) turns.set(one, ++turn);
    },
  };
}
