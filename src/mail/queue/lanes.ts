import { stopwatch } from '../../platform/clock.ts';

/**
 * The values of `deliveries.lane`: how urgent a delivery is. Lanes with lower numbers are claimed from first. Bulk is all marketing
 * mail, and the transactional mail of automation runs that were begun many at a time.
 */
export const LANES = ['transactional', 'bulk', 'retrying', 'retrying_bulk'] as const;
export type LaneName = (typeof LANES)[number];
export type Lane = 0 | 1 | 2 | 3;

export const laneNumber = (name: LaneName): Lane => LANES.indexOf(name) as Lane;

/** A retry after a failure of the destination keeps its kind: bulk mail has a lower priority than other mail there, too. */
const RETRYING = 2;
export const isBulk = (lane: number): boolean => (lane & 1) === 1;
export const isRetrying = (lane: number): boolean => (lane & RETRYING) !== 0;

/** Returns SQL for the lane of a row once its destination has failed, or has not. */
export const laneSql = (becomes: 'usual' | 'retrying'): string =>
  becomes === 'retrying' ? `(lane & 1) + ${RETRYING}` : 'lane & 1';

interface LaneWeight {
  /**
   * While lanes before this one have more due than a claim takes, one delivery of this lane begins for this many of
   * theirs: an attempt that fails costs as much as one that succeeds.
   */
  othersForOne: number;
  /** Upper bound for one claim, so that mail that has just been accepted never waits for a long claim. */
  claimMax: number;
}

/** The weights of the lanes, in their order. */
export const WEIGHTS: Readonly<Record<LaneName, LaneWeight>> = {
  transactional: { othersForOne: 1, claimMax: 200 },
  bulk: { othersForOne: 4, claimMax: 100 },
  retrying: { othersForOne: 20, claimMax: 20 },
  retrying_bulk: { othersForOne: 40, claimMax: 20 },
};

/** The result of a claim from one lane. */
interface LaneClaim {
  lane: Lane;
  /** Number of due deliveries, including those that were deferred, held or moved to another lane. */
  due: number;
  /** Number of them that are delivered now. */
  begun: number;
  /** True if more may be due than the claim asked for. */
  isMore: boolean;
}

/**
 * First attempts in flight do not delay retries once none has begun for this long: they only wait for their receivers.
 */
const CALM_MS = 100;
const ALL = LANES.map(laneNumber);
const LATER = ALL.filter((lane) => lane > 0);
const FIRST: Lane = 0;

const findWeight = (lane: Lane) => WEIGHTS[LANES[lane]];

/**
 * Decides from which lane the queue claims next, and how much. A pass over the queue begins with the first lane and
 * goes on to the later ones that have something due; while an earlier lane has more due, a later one has only what its
 * weight earns it.
 */
export class LaneScheduler {
  #lane: Lane = FIRST;
  /**
   * Time at which the next delivery of each lane is due. At the start all count as due: an earlier process may have
   * left some.
   */
  #dueAt = ALL.map(() => -Infinity);
  /** Deliveries that each lane has earned, by its weight, from those begun in the lanes before it. */
  #credit = ALL.map(() => 0);
  /** Lanes whose last claim left something that is due. */
  #more = ALL.map(() => false);
  /** Later lanes that were claimed from since the first lane was. */
  #hadTurn = new Set<Lane>();
  /** The last of the later lanes that had a turn: when passes are cut short, the lanes after it are not forgotten. */
  #lastLater: Lane = FIRST;
  /** First attempts begun in this pass, and in those before it that left more of them due. */
  #firstAttemptsBegun = 0;
  #firstAttempts = 0;
  #sinceFirstAttemptMs = stopwatch();

  /** The lane to claim from next. */
  get lane(): Lane {
    return this.#lane;
  }

  /** Reports whether the last claim of this lane left something that is due. */
  isBacklogged(lane: Lane): boolean {
    return this.#more[lane] ?? false;
  }

  /** Returns how many deliveries may be claimed from the current lane. */
  quota({ limit, isThrottled }: { limit: number; isThrottled: boolean }): number {
    return Math.min(limit, this.#computeQuota(this.#lane, isThrottled));
  }

  /** Notes a claim and chooses the next lane; returns false when the pass is over. */
  goOn(claim: LaneClaim, at: { now: number; isThrottled: boolean; startsOver: boolean }): boolean {
    this.#note(claim);
    // The loop was woken and starts over with the first lane, which mostly has the new mail.
    if (at.startsOver && claim.lane !== FIRST) {
      this.#lane = FIRST;
      return this.#more.includes(true);
    }
    const next = this.#nextLane(at.now, at.isThrottled);
    if (next === undefined) this.endPass();
    else this.#lane = next;
    return next !== undefined;
  }

  /** Leaves out the current lane, for which the queue has no room, and chooses the next one; returns false when the pass is over. */
  skip(at: { now: number; isThrottled: boolean }): boolean {
    this.#hadTurn.add(this.#lane);
    this.#lastLater = this.#lane;
    this.#more[this.#lane] = false;
    const next = this.#nextLane(at.now, at.isThrottled);
    if (next === undefined) this.endPass();
    else this.#lane = next;
    return next !== undefined;
  }

  /** Ends the pass: the next claim is from the first lane. */
  endPass(): void {
    this.#lane = FIRST;
    this.#hadTurn.clear();
    this.#more.fill(false);
  }

  /** Notes when the next delivery of a lane is due; returns whether that is earlier than was known. */
  expectAt(lane: Lane, time = Infinity): boolean {
    const isNews = time < (this.#dueAt[lane] ?? 0);
    this.#dueAt[lane] = time;
    return isNews;
  }

  begin(lane: Lane): void {
    if (isRetrying(lane)) return;
    this.#firstAttempts++;
    this.#sinceFirstAttemptMs = stopwatch();
  }

  end(lane: Lane): void {
    if (!isRetrying(lane)) this.#firstAttempts--;
  }

  /** Reports whether a retry is due and no first attempt is in flight, for which retries wait. */
  mayRetry(now: number): boolean {
    return this.#firstAttempts === 0 && ALL.some((lane) => isRetrying(lane) && this.#isDue(lane, now));
  }

  #note({ lane, due, begun, isMore }: LaneClaim): void {
    if (lane === FIRST) {
      this.#hadTurn.clear();
      if (!this.#more[0] && !this.#more[1]) this.#firstAttemptsBegun = 0;
    } else {
      this.#hadTurn.add(lane);
      this.#lastLater = lane;
      this.#credit[lane] = Math.max(0, (this.#credit[lane] ?? 0) - due);
    }
    this.#more[lane] = isMore;
    if (!isRetrying(lane)) this.#firstAttemptsBegun += begun;
    for (const later of LATER.filter((other) => other > lane)) {
      const { othersForOne, claimMax } = findWeight(later);
      // When passes are cut short, a lane has its turn once in as many passes as there are later lanes.
      const creditMax = claimMax * LATER.length;
      this.#credit[later] = Math.min(creditMax, (this.#credit[later] ?? 0) + begun / othersForOne);
    }
  }

  #computeQuota(lane: Lane, isThrottled: boolean): number {
    const { claimMax } = findWeight(lane);
    if (lane === FIRST) return claimMax;
    // No first attempt is due, and those in flight, if any, only wait for their receivers.
    const isCalm =
      this.#firstAttemptsBegun === 0 && (this.#firstAttempts === 0 || this.#sinceFirstAttemptMs() > CALM_MS);
    const isHeldBack = this.#more.slice(0, lane).includes(true) || (isRetrying(lane) && (!isCalm || isThrottled));
    return isHeldBack ? Math.min(claimMax, Math.floor(this.#credit[lane] ?? 0)) : claimMax;
  }

  /**
   * Gives each later lane one turn, and then the first one again: the first lane never waits for a backlog of another.
   */
  #nextLane(now: number, isThrottled: boolean): Lane | undefined {
    const isOpen = (lane: Lane): boolean => this.#computeQuota(lane, isThrottled) > 0;
    const isAfterLast = (lane: Lane): boolean => lane > this.#lastLater;
    const inTurn = [...LATER.filter(isAfterLast), ...LATER.filter((lane) => !isAfterLast(lane))];
    const next = inTurn.find((lane) => !this.#hadTurn.has(lane) && this.#isDue(lane, now) && isOpen(lane));
    return next ?? (ALL.some((lane) => this.#more[lane] && isOpen(lane)) ? FIRST : undefined);
  }

  #isDue(lane: Lane, now: number): boolean {
    return (this.#dueAt[lane] ?? 0) <= now;
  }
}
