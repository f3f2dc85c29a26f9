import { stopwatch } from '../../../platform/clock/index.ts';

/** When mail for failing destinations has its turn. */
export interface FailingLane {
  /** When the next of it is due, as far as is known; answers whether nothing was known to be due so early. */
  expectAt(time: number | undefined): boolean;
  isDue(now: number): boolean;
  /** So many others were begun. */
  earn(begun: number): void;
  spend(claimed: number): void;
  /** How many may be claimed now. `isCalm` when nothing else was due. */
  turn(now: { isCalm: boolean }): number;
  othersBegin(): void;
  othersEnd(): void;
  /** No other mail is under way. */
  readonly isAlone: boolean;
}

/** While other mail is due, one in so many: an attempt that fails costs as much as a delivery. */
const OTHERS_FOR_ONE = 20;
const SLICE = 20;
/** Other mail that is under way but has not come for so long only waits for its receivers. */
const CALM_MS = 100;

export function createFailingLane(): FailingLane {
  /** Something may have been left by an earlier process. */
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
      credit = Math.min(SLICE, credit + begun / OTHERS_FOR_ONE);
    },
    spend(claimed) {
      credit = Math.max(0, credit - claimed);
    },
    turn: ({ isCalm }) => (isCalm && (others === 0 || sinceOthersMs() > CALM_MS) ? SLICE : Math.floor(credit)),
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
