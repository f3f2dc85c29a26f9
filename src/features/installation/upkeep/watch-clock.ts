import { isoTime } from '../../../platform/clock.ts';
import type { World } from '../../../platform/world.ts';
import { latestIdTime } from '../../../mail/events/index.ts';
import { buildFinding, type Finding } from '../../../platform/finding.ts';
import { endWaitsAfter } from '../../campaigns/index.ts';
import { bringBackEvents } from '../../webhooks/index.ts';
import { bringBackDeliveries } from '../../../mail/queue/index.ts';
import { bringBackReputationCounts } from '../../../mail/reputation/index.ts';
import { bringBackStreamCounts } from '../../../mail/stream-rates/index.ts';
import { bringBackWarmUps } from '../../../mail/egress/index.ts';
import { restartThrottles } from '../../../mail/throttles/index.ts';
import { WAITS_MS } from '../../webhooks/start.ts';

/** NTP slews a clock that is off by less. A leap second and the difference between two nodes stay below it, too. */
const STEP_MS_MIN = 5000;
const LOOK_MS = 5000;
/** An operator reads the findings once a day. */
const KEPT_MS = 24 * 3_600_000;
const UNIT_MS = { day: 24 * 3_600_000, hour: 3_600_000, minute: 60_000, second: 1000 };

export interface ClockWatch {
  /** Findings about steps of the clock within the last day, or while entries are dated in the future because of one. */
  findings(): readonly Finding[];
  stop(): Promise<void>;
}

/** A step of the clock; `byMs` is negative if it was set back. */
interface Step {
  byMs: number;
  at: number;
  /** Monotonic time, so that the finding ends whatever the clock does next. */
  seenAt: number;
  summary: string;
  /** The time that the clock showed when it was ahead; entries may have it. */
  aheadUntil: number;
}

/**
 * Compares the clock with the monotonic clock, and at the start with the latest id: it keeps the time of a clock that was
 * ahead when later entries have real times again. Each step is logged once
 * and is a finding for a day. `setBack` runs after each step back, and corrects times that the clock wrote before.
 */
export async function watchClock(world: World, setBack: () => Promise<unknown>): Promise<ClockWatch> {
  const { clock, db, log } = world;
  let last: Step | undefined;
  let mending: Promise<unknown> = Promise.resolve();
  let offset = clock.now() - clock.steady();

  function note(byMs: number, summary: string): void {
    const at = clock.now();
    last = { byMs, at, seenAt: clock.steady(), summary, aheadUntil: byMs < 0 ? at - byMs : at };
    log.warn({ by_seconds: Math.round(byMs / 1000), now: isoTime(at) }, summary);
    if (byMs > 0) return;
    mending = setBack().catch((error: unknown) =>
      log.error({ err: error }, 'could not correct times that a wrong clock wrote; retrying within an hour'),
    );
  }

  function checkOffset(): void {
    const now = clock.now() - clock.steady();
    const byMs = now - offset;
    // Each check starts over, so that a clock that is slewed for days is not reported as a step.
    offset = now;
    if (byMs > STEP_MS_MIN) {
      note(
        byMs,
        `The clock of this machine went forward by ${inWords(byMs)}: it was set, or the machine was suspended.`,
      );
    } else if (byMs < -STEP_MS_MIN) {
      note(
        byMs,
        `The clock of this machine was set back by ${inWords(-byMs)}. Entries from before may have times in the future.`,
      );
    }
  }

  const aheadMs = ((await latestIdTime(db)) ?? 0) - clock.now();
  if (aheadMs > STEP_MS_MIN) {
    note(
      -aheadMs,
      `The latest entry is from ${inWords(aheadMs)} ahead of the clock of this machine: the clock was ahead then, or it is behind now. Until the clock has caught up, lists show newer entries after those from then.`,
    );
  }
  let end = (): void => undefined;
  const scheduleCheck = (): void => {
    end = clock.timer(LOOK_MS, () => {
      checkOffset();
      scheduleCheck();
    });
  };
  scheduleCheck();
  return {
    findings() {
      if (!last || (clock.steady() - last.seenAt >= KEPT_MS && clock.now() >= last.aheadUntil)) return [];
      return [buildFinding('clock_stepped', { summary: last.summary, since: last.at })];
    },
    async stop() {
      end();
      await mending;
    },
  };
}

/** Formats a duration in the largest unit that fits, with one decimal. */
function inWords(ms: number): string {
  const [unit, unitMs] = Object.entries(UNIT_MS).find(([, each]) => ms >= each) ?? ['second', 1000];
  const count = Math.round((ms / unitMs) * 10) / 10;
  return `${count} ${unit}${count === 1 ? '' : 's'}`;
}

const MINUTE_MS = 60_000;
/** Waits are spread by less than this factor; a deferral that is not a retry lasts one hour at most. */
const SPREAD = 1.2;
const DEFERRED_MS = 60 * MINUTE_MS;
/** A broadcast waits one minute at most after a page. */
const WAIT_MS_MAX = 2 * MINUTE_MS;

/** Number of rows whose time was later than possible. */
export interface TimesCorrected {
  deliveries: number;
  webhook_events: number;
  broadcasts: number;
  /** Limits of receivers whose beginning was in the future. */
  limits: number;
  /** Counts of outcomes with an hour in the future. */
  counts: number;
  /** Days of warm-ups that were in the future. */
  warm_ups: number;
}

/**
 * Makes rows due that wait longer than any wait lasts, because a clock that was ahead wrote the time. Otherwise mail,
 * events and broadcasts would wait until the clock has caught up. Scheduled mail keeps its time. Outcomes of mail that it counted
 * in the future count now.
 */
export async function correctTimes(world: World): Promise<TimesCorrected> {
  const { clock, config, db, ids } = world;
  const now = clock.now();
  const retryMs = Math.max(0, ...config.delivery.retry_minutes) * MINUTE_MS;
  const eventMs = Math.max(...WAITS_MS) * SPREAD;
  return {
    deliveries: await bringBackDeliveries(db, { now, latest: now + retryMs * SPREAD + DEFERRED_MS }),
    webhook_events: await bringBackEvents(db, { now, latest: now + eventMs }),
    broadcasts: await endWaitsAfter(db, { now, latest: now + WAIT_MS_MAX }),
    limits: await restartThrottles(db, { now, latest: now + MINUTE_MS }),
    counts: (await bringBackReputationCounts(db, now)) + (await bringBackStreamCounts(db, ids, now)),
    warm_ups: await bringBackWarmUps(world),
  };
}
