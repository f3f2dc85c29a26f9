/** The clocks of one IANA time zone. `local` is the reading of a wall clock, as if it were UTC. */
export interface TimeZone {
  name: string;
  offsetMs(at: number): number;
  /**
   * Returns the first moment at which the clocks show `local`, or, if they never do, the moment of the jump that skips
   * it.
   */
  toMoment(local: number): number;
}

const DAY_MS = 86_400_000;

/**
 * Returns undefined if there is no such zone. Fixed offsets (+02:00) are not accepted, because they do not follow the
 * clocks of a place.
 */
export function findTimeZone(name: string): TimeZone | undefined {
  const format = /^[+-]/.test(name) ? undefined : formatFor(name);
  if (!format) return undefined;
  const offsetMs = (at: number): number => {
    const shown = READING.exec(format.format(at));
    if (!shown) throw new Error(`no reading of the clocks of ${name} at ${at}`);
    const [month = 0, day, year = 0, hour, minute, second] = shown.slice(1).map(Number);
    return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(at / 1000) * 1000;
  };
  return {
    name,
    offsetMs,
    toMoment(local) {
      const before = local - offsetMs(local - DAY_MS);
      const after = local - offsetMs(local + DAY_MS);
      const moments = [Math.min(before, after), Math.max(before, after)];
      return moments.find((moment) => moment + offsetMs(moment) === local) ?? jumpIn(offsetMs, moments);
    },
  };
}

/** Returns the first moment at which the offset is the one at the end of the range. */
function jumpIn(offsetMs: (at: number) => number, [from = 0, until = 0]: number[]): number {
  const after = offsetMs(until);
  let low = from;
  let high = until;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (offsetMs(middle) === after) high = middle;
    else low = middle + 1;
  }
  return high;
}

const READING = /^(\d+)\/(\d+)\/(\d+), (\d+):(\d+):(\d+)$/;

function formatFor(timeZone: string): Intl.DateTimeFormat | undefined {
  try {
    return new Intl.DateTimeFormat('en-US', {
      timeZone,
      hourCycle: 'h23',
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
    });
  } catch {
    return undefined;
  }
}
