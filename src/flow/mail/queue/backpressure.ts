import { stopwatch } from '../../../platform/clock/index.ts';

const CROWD = 12;
/** A crowd that was just served counts as one for a while: its next requests are on their way. */
const CROWD_MS = 250;
/** What delivery may have under way meanwhile. */
const UNDER_PRESSURE_MAX = 16;
const LONG_LOOK_MS = 100;
const RESTS_PER_LOOK = 10;

/** Callers that wait for their commit. */
export function createContentionGauge(): { isThere(): boolean; waitFor<T>(commit: Promise<T>): Promise<T> } {
  let waiting = 0;
  let sinceCrowdMs = (): number => Number.POSITIVE_INFINITY;
  return {
    isThere: () => sinceCrowdMs() < CROWD_MS,
    waitFor(commit) {
      if (++waiting >= CROWD) sinceCrowdMs = stopwatch();
      return commit.finally(() => waiting--);
    },
  };
}

/**
 * While callers wait in a crowd, accepting goes first: delivery keeps a share, and catches up when they are gone. Every
 * `extraMs` a few more get through, because those under way may be slow ones.
 */
export function createThrottle(
  isPressed: () => boolean,
  extraMs: number,
): {
  readonly isOn: boolean;
  /** Looks at the crowd anew; answers how many may begin. */
  free(): number;
  /** One begins; the returned function ends it. */
  begin(): () => void;
} {
  let isOn = false;
  let begun = 0;
  let sinceExtraMs = stopwatch();
  return {
    get isOn() {
      return isOn;
    },
    free() {
      isOn = isPressed();
      if (!isOn) return Number.POSITIVE_INFINITY;
      const share = UNDER_PRESSURE_MAX - begun;
      if (share > 0) return share;
      if (sinceExtraMs() < extraMs) return 0;
      sinceExtraMs = stopwatch();
      return UNDER_PRESSURE_MAX;
    },
    begin() {
      const one = isOn ? 1 : 0;
      begun += one;
      return () => void (begun -= one);
    },
  };
}

/** Looking past a crowded destination reads what its teams have waiting: a long backlog is not read again and again. */
export function createScanCooldown(): { isOn(): boolean; after(tookMs: number): void } {
  let isOn = (): boolean => false;
  return {
    isOn: () => isOn(),
    after(tookMs) {
      if (tookMs <= LONG_LOOK_MS) return;
      const elapsedMs = stopwatch();
      isOn = () => elapsedMs() < tookMs * RESTS_PER_LOOK;
    },
  };
}
