import { createTask, parse } from 'node-cron';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

/** A cron expression of five fields, in UTC. */
export interface Schedule {
  /**
   * Returns the latest minute after `after` and up to `now` that the expression names, or undefined. All are minutes
   * since 1970.
   */
  lastDue(range: { after: number; now: number }): number | undefined;
  /** Removes the expression from node-cron. */
  end(): void;
}

/**
 * node-cron parses the expression and decides which days it names. Its timer is not used, because it steps through
 * every minute that a clock has skipped, and omits the minutes that it reaches late.
 */
export function readSchedule(text: string): Schedule {
  const { hour, minute } = parse(text);
  const hours = descending(hour);
  const minutes = descending(minute);
  const task = createTask(text, () => undefined, { timezone: 'UTC' });
  const isNamed = (ms: number): boolean => task.match(new Date(ms));

  return {
    lastDue({ after, now }) {
      const first = Math.floor((after * MINUTE_MS) / DAY_MS);
      for (let day = Math.floor((now * MINUTE_MS) / DAY_MS); day >= first; day--) {
        const midnight = (day * DAY_MS) / MINUTE_MS;
        const latest = latestOfDay(midnight, now);
        if (latest === undefined) continue;
        if (latest <= after) return undefined;
        // Hour and minute match, so only the day can be wrong.
        if (isNamed(latest * MINUTE_MS)) return latest;
      }
      return undefined;
    },
    end: () => void task.destroy(),
  };

  function latestOfDay(midnight: number, now: number): number | undefined {
    for (const hour of hours) {
      for (const minute of minutes) {
        const at = midnight + hour * 60 + minute;
        if (at <= now) return at;
      }
    }
    return undefined;
  }
}

const descending = (values: readonly number[]): number[] => values.toSorted((a, b) => b - a);
