import { stopwatch } from '../../../platform/clock/index.ts';

/** Decides when mail for failing destinations is claimed, and how much. */
export interface FailingLane {
  /** Notes when the next delivery of this lane is due; answers whether that is earlier than was known. */
  expectAt(time: number | undefined): boolean;
  isDue(now: number): boolean;
  /** Adds to the quota for `begun` deliveries of the usual lane. */
  earn(begun: number): void;
  /** Takes `claimed` deliveries of this lane off the quota. */
  spend(claimed: number): void;
  /** How many may be claimed now. `isCalm`: nothing of the usual lane was due. */
  quota(now: { isCalm: boolean }): number;
  othersBegin(): void;
  othersEnd(): void;
  /** No mail of the usual lane is in flight. */
  readonly isAlone: boolean;
}

/** While mail of the usual lane is due, one delivery of this lane for so many of it: a failing attempt costs as much. */
const OTHERS_FOR_ONE = 20;
const QUOTA_MAX = 20;
/** Usual mail in flight counts as calm when none was begun for so long: it only waits for its receivers. */
const CALM_MS = 100;

export function createFailingLane(): FailingLane {
  /** An earlier process may have left something due. */
  let dueAt = -Infinity;
  let credit = 0;
  let others = 0;
  let sinceOthersMs = stopwatch();
  return {
    expectAt(time = Infinity) {
      const isNews = time < dueAt;
      dueAt = time;
      return isNews;
    },
    isDue: (now) => dueAt <= now,
    earn(begun) {
      credit = Math.min(QUOTA_MAX, credit + begun / OTHERS_FOR_ONE);
    },
    spend(claimed) {
      credit = Math.max(0, credit - claimed);
    },
    quota: ({ isCalm }) => (isCalm && (others === 0 || sinceOthersMs() > CALM_MS) ? QUOTA_MAX : Math.floor(credit)),
    othersBegin() {
      others++;
      sinceOthersMs = stopwatch();
    },
    othersEnd: () => void others--,
    get isAlone() {
      return others === 0;
    },
  };
}
