import { isoTime } from '../../platform/clock/index.ts';
import type { World } from '../../platform/world/index.ts';
import { lastEventAt } from '../../events/index.ts';
import { findingOf, type Finding } from '../../resources/findings/index.ts';

/** NTP slews a clock that is off by less; a leap second and two nodes that write beside each other stay below it, too. */
const STEP_MS_MIN = 5000;
const LOOK_MS = 5000;
/** Somebody reads what is wrong once a day. */
const KEPT_MS = 24 * 3_600_000;
const UNIT_MS = { day: 24 * 3_600_000, hour: 3_600_000, minute: 60_000, second: 1000 };

export interface ClockWatch {
  /** What a step of the clock has left to know, for a day. */
  findings(): readonly Finding[];
  stop(): Promise<void>;
}

/** The clock was set; `byMs` is negative where it was set back. */
interface Step {
  byMs: number;
  at: number;
  /** By the time that nobody sets, so that the finding ends whatever the clock does next. */
  seenAt: number;
  summary: string;
}

/**
 * Holds the clock against the time that nobody sets, and at the start against what was recorded last. Each step is logged once and
 * is a finding for a day. `setBack` runs after each step back, and is to correct times that were written by the clock of before.
 */
export async function watchClock(world: World, setBack: () => Promise<unknown>): Promise<ClockWatch> {
  const { clock, db, log } = world;
  let last: Step | undefined;
  let mending: Promise<unknown> = Promise.resolve();
  let offset = clock.now() - clock.steady();

  function note(byMs: number, summary: string): void {
    const at = clock.now();
    last = { byMs, at, seenAt: clock.steady(), summary };
    log.warn({ by_seconds: Math.round(byMs / 1000), now: isoTime(at) }, summary);
    if (byMs > 0) return;
    mending = setBack().catch((error: unknown) =>
      log.error(
        { err: error },
        'could not correct the times that a wrong clock has written; tried again within an hour',
      ),
    );
  }

  function look(): void {
    const now = clock.now() - clock.steady();
    const byMs = now - offset;
    // Each look begins anew, so that a clock that is slewed for days adds up to no step.
    offset = now;
    if (byMs > STEP_MS_MIN) {
      note(
        byMs,
        `The clock of this machine went forward by ${inWords(byMs)}: it was set, or the machine was suspended.`,
      );
    } else if (byMs < -STEP_MS_MIN) {
      note(
        byMs,
        `The clock of this machine was set back by ${inWords(-byMs)}. What was recorded before may bear times that are still to come.`,
      );
    }
  }

  const aheadMs = ((await lastEventAt(db)) ?? 0) - clock.now();
  if (aheadMs > STEP_MS_MIN) {
    note(
      -aheadMs,
      `What was recorded last bears a time that is ${inWords(aheadMs)} ahead of the clock of this machine: the clock was ahead then, or it is behind now.`,
    );
  }
  let end = (): void => undefined;
  const lookAgain = (): void => {
    end = clock.timer(LOOK_MS, () => {
      look();
      lookAgain();
    });
  };
  lookAgain();
  return {
    findings() {
      if (!last || clock.steady() - last.seenAt >= KEPT_MS) return [];
      return [findingOf('clock_stepped', { summary: last.summary, since: last.at })];
    },
    async stop() {
      end();
      await mending;
    },
  };
}

/** In the largest unit that fits, to one decimal. */
function inWords(ms: number): string {
  const [unit, unitMs] = Object.entries(UNIT_MS).find(([, each]) => ms >= each) ?? ['second', 1000];
  const count = Math.round((ms / unitMs) * 10) / 10;
  return `${count} ${unit}${count === 1 ? '' : 's'}`;
}
