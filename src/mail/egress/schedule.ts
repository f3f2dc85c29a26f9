const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** The daily limits of a warm-up at one provider. */
export interface Schedule {
  /** Messages a day, for each day that counts. */
  daily: readonly number[];
  /** The share of that for this provider. */
  percent: number;
  /** Hours in which the messages of a day may leave. */
  hours: number;
  /** After so many days without mail, the warm-up begins again. */
  idleDays: number;
}

/** The progress of the warm-up of a source at one provider. */
export interface WarmUpDay {
  /** The position in the schedule; beyond its end, the source is warm. */
  level: number;
  /** The last day on which it was used, in days since 1970, and the messages of that day. */
  day: number;
  used: number;
  hour: number;
  hour_used: number;
  judged: 'new' | 'good' | 'bad' | 'idle' | 'little' | 'paused';
  /** The number of good days after which the next step is taken. */
  days_left: number;
  /** Bad days, less the steps that were taken after them; at most `BAD_DAYS_MAX`. */
  bad_days: number;
}

/** The results of one day at a provider, counted in recipients. */
export interface DayResults {
  accepted: number;
  bounced: number;
  complained: number;
  /** Refused or deferred because of the reputation of the source. */
  mistrusted: number;
}

/** After so many bad days, each step takes eight good ones. */
const BAD_DAYS_MAX = 3;

/** A day with more of these is bad; fewer than the number are an accident. */
const MISTRUSTED = { several: 3, percent: 2 };
const BOUNCED = { several: 10, percent: 8 };
const COMPLAINED = { several: 2, percent: 0.3 };

export const toDay = (at: number): number => Math.floor(at / DAY_MS);
export const toHour = (at: number): number => Math.floor(at / HOUR_MS);

export const newDay = (now: number): WarmUpDay => ({
  level: 0,
  day: toDay(now),
  used: 0,
  hour: toHour(now),
  hour_used: 0,
  judged: 'new',
  days_left: 1,
  bad_days: 0,
});

/** Returns the messages of a day at a level; undefined if there is no limit any more. */
export function dailyLimit({ daily, percent }: Schedule, level: number): number | undefined {
  const whole = daily[level];
  return whole === undefined ? undefined : Math.max(1, Math.round((whole * percent) / 100));
}

export const hourlyLimit = (schedule: Schedule, daily: number): number =>
  Math.max(1, Math.ceil(daily / schedule.hours));

/** Clocks of several nodes differ by less: a day that begins later is one that a wrong clock began. */
const AHEAD_MS_MAX = HOUR_MS;

/** Reports whether a clock that was ahead began the day. */
export const isFutureDay = ({ day }: Pick<WarmUpDay, 'day'>, now: number): boolean => day * DAY_MS > now + AHEAD_MS_MAX;

/**
 * Replaces a day that a clock that was ahead began by today. What was sent on it has been sent, and counts today; if it was bad, a
 * step back is taken.
 */
function replaceFutureDay(
  before: WarmUpDay,
  { now, results, schedule }: { now: number; results: DayResults; schedule: Schedule },
): WarmUpDay {
  const progress = isBadDay(results)
    ? { ...advance(before, 'bad', schedule.daily.length), judged: 'bad' as const }
    : undefined;
  return { ...before, ...progress, day: toDay(now), hour: toHour(now) };
}

/**
 * Begins a new day: a good day on which at least half of the limit was used counts as a step. A bad one takes a step back, and the
 * steps after it take two, four and at most eight good days each, because a receiver that is asked for the same again at once
 * refuses again. After a long pause the warm-up begins again. A day in the future is replaced.
 */
export function beginDay(
  before: WarmUpDay,
  { now, results, schedule, isPaused }: { now: number; results: DayResults; schedule: Schedule; isPaused: boolean },
): WarmUpDay {
  const day = toDay(now);
  if (isFutureDay(before, now)) return replaceFutureDay(before, { now, results, schedule });
  if (day <= before.day) return before;
  const judged = judge(before, { idle: day - before.day, results, schedule, isPaused });
  const progress = advance(before, judged, schedule.daily.length);
  return { ...progress, day, used: 0, hour: toHour(now), hour_used: 0, judged };
}

function advance(
  { level, days_left: daysLeft, bad_days: badDays }: WarmUpDay,
  judged: WarmUpDay['judged'],
  last: number,
): Pick<WarmUpDay, 'level' | 'days_left' | 'bad_days'> {
  const stepAfter = (bad: number) => ({ bad_days: bad, days_left: 2 ** bad });
  switch (judged) {
    case 'good':
      if (daysLeft > 1) return { level, days_left: daysLeft - 1, bad_days: badDays };
      return { level: Math.min(level + 1, last), ...stepAfter(Math.max(0, badDays - 1)) };
    case 'bad':
      return { level: Math.max(0, level - 1), ...stepAfter(Math.min(BAD_DAYS_MAX, badDays + 1)) };
    case 'idle':
      return { level: 0, ...stepAfter(0) };
    default:
      return { level, days_left: daysLeft, bad_days: badDays };
  }
}

function judge(
  { level, used }: WarmUpDay,
  { idle, results, schedule, isPaused }: { idle: number; results: DayResults; schedule: Schedule; isPaused: boolean },
): WarmUpDay['judged'] {
  if (idle > schedule.idleDays) return 'idle';
  if (isBadDay(results)) return 'bad';
  const limit = dailyLimit(schedule, level);
  if (limit !== undefined && used * 2 < limit) return 'little';
  return isPaused ? 'paused' : 'good';
}

export function isBadDay({ accepted, bounced, complained, mistrusted }: DayResults): boolean {
  const tried = accepted + bounced + mistrusted;
  const isHigh = (count: number, of: number, { several, percent }: typeof BOUNCED): boolean =>
    count >= several && count * 100 > of * percent;
  // However few they are: a day on which half of the mail was refused is no reason to send more.
  const isMostlyRefused = mistrusted > 0 && mistrusted * 2 >= tried;
  return (
    isMostlyRefused ||
    isHigh(mistrusted, tried, MISTRUSTED) ||
    isHigh(bounced, tried, BOUNCED) ||
    isHigh(complained, accepted, COMPLAINED)
  );
}

/** So many receivers have to refuse a source before that counts where no receiver speaks for the others. */
const INDEPENDENT_MIN = 3;

/**
 * Sums up the refusals of independent receivers. None counts for more than the third largest does, so that one or two of them
 * can neither make a bad day nor add to one.
 */
export function sumIndependent(counts: readonly number[]): number {
  const most = counts.toSorted((a, b) => b - a)[INDEPENDENT_MIN - 1] ?? 0;
  return counts.reduce((sum, count) => sum + Math.min(count, most), 0);
}

/** The number of messages that may leave now, and the time from which more may. */
export type Allowance =
  | { kind: 'unlimited' }
  | { kind: 'limited'; free: number; until: number; daily: number; hourly: number };

/** The share of a day and of an hour that marketing mail leaves to transactional mail. */
const KEPT_FOR_TRANSACTIONAL = 0.1;

export function computeAllowance(
  schedule: Schedule,
  { level, used, hour, hour_used: hourUsed }: WarmUpDay,
  { now, isMarketing }: { now: number; isMarketing: boolean },
): Allowance {
  const daily = dailyLimit(schedule, level);
  if (daily === undefined) return { kind: 'unlimited' };
  const hourly = hourlyLimit(schedule, daily);
  const share = (limit: number): number => (isMarketing ? Math.ceil(limit * (1 - KEPT_FOR_TRANSACTIONAL)) : limit);
  const ofDay = share(daily) - used;
  // An hour that has begun by the clock of another node has begun.
  const ofHour = share(hourly) - (hour >= toHour(now) ? hourUsed : 0);
  const until = ofDay <= 0 ? (toDay(now) + 1) * DAY_MS : (toHour(now) + 1) * HOUR_MS;
  return { kind: 'limited', free: Math.max(0, Math.min(ofDay, ofHour)), until, daily, hourly };
}
