import { stopwatch } from '../../platform/clock/index.ts';

/** So many callers at once mean contention. */
const CONTENDED_CALLERS = 12;
/** Contention counts for so long after it was last seen: the next requests of the same callers are on their way. */
const CONTENDED_MS = 250;
/** How many deliveries may be in flight that were begun under contention. */
const THROTTLED_MAX = 16;
const LONG_SCAN_MS = 100;
const COOLDOWN_PER_SCAN = 10;

/** Measures whether many callers wait for their commits at the same time. */
export interface ContentionGauge {
  isContended(): boolean;
  /** Counts a caller until its commit ends; answers the commit. */
  track<T>(commit: Promise<T>): Promise<T>;
}

export function createContentionGauge(): ContentionGauge {
  let waiting = 0;
  let sinceContendedMs = (): number => Number.POSITIVE_INFINITY;
  return {
    isContended: () => sinceContendedMs() < CONTENDED_MS,
    track(commit) {
      if (++waiting >= CONTENDED_CALLERS) sinceContendedMs = stopwatch();
      return commit.finally(() => waiting--);
    },
  };
}

/** Slows delivery down while accepting is contended; delivery catches up afterwards. */
export interface Throttle {
  readonly isOn: boolean;
  /** Reads the contention again; answers how many deliveries may begin. */
  free(): number;
  /** Counts one delivery; the returned function ends it. */
  begin(): () => void;
}

/** Every `extraMs` as many more deliveries may begin, because those in flight may be slow ones. */
export function createThrottle(isContended: () => boolean, extraMs: number): Throttle {
  let isOn = false;
  let begun = 0;
  let sinceExtraMs = stopwatch();
  return {
    get isOn() {
      return isOn;
    },
    free() {
      isOn = isContended();
      if (!isOn) return Number.POSITIVE_INFINITY;
      const free = THROTTLED_MAX - begun;
      if (free > 0) return free;
      if (sinceExtraMs() < extraMs) return 0;
      sinceExtraMs = stopwatch();
      return THROTTLED_MAX;
    },
    begin() {
      const one = isOn ? 1 : 0;
      begun += one;
      return () => void (begun -= one);
    },
  };
}

/** Pauses claims that have to scan past a team's or a destination's backlog, after such a scan took long. */
export interface ScanCooldown {
  isOn(): boolean;
  startAfter(tookMs: number): void;
}

export function createScanCooldown(): ScanCooldown {
  let isOn = (): boolean => false;
  return {
    isOn: () => isOn(),
    startAfter(tookMs) {
      if (tookMs <= LONG_SCAN_MS) return;
      const elapsedMs = stopwatch();
      isOn = () => elapsedMs() < tookMs * COOLDOWN_PER_SCAN;
    },
  };
}
