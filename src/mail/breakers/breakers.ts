import { isRateHigh, SEVERAL } from '../../contract/index.ts';
import type { Config } from '../../platform/config/index.ts';

export type BreakerCause = 'complaints' | 'bounces';
/** A closed breaker limits nothing; it remembers the trips, and from when figures count. */
export type BreakerState = 'slow' | 'paused' | 'probing' | 'recovering' | 'closed';

/** The present state of a breaker, and the figures that brought it about. */
export interface BreakerStatus {
  state: BreakerState;
  cause: BreakerCause;
  /** The number of pauses since it was made. */
  trips: number;
  /** The time at which its mail was limited first, without an interruption since. */
  trippedAt: number;
  changedAt: number;
  /** The time of the next decision. */
  untilAt: number;
  /** Messages per minute; null if it has no such limit. */
  rate: number | null;
  /** Recipients who complained or bounced, of so many. */
  bad: number;
  of: number;
}

/** Recipients by outcome within the window, or since figures count anew. */
export interface Figures {
  accepted: number;
  bounced: number;
  complained: number;
}

/** The limits for one kind of bad outcome: shares in percent, and the numbers from which a share is judged. */
interface CauseLimits {
  slowPercent: number;
  pausePercent: number;
  /** Recipients with a known outcome. */
  floor: number;
  /** Fewer bad outcomes trip nothing, whatever their share. */
  badMin: number;
}

export interface BreakerLimits {
  complaints: CauseLimits;
  bounces: CauseLimits;
  windowMs: number;
  slowRate: number;
  pauseMs: number;
  probeRate: number;
  probeRecipients: number;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const PAUSE_MS_MAX = 24 * HOUR_MS;
/** A breaker that is slow or probing stays so for this time at least. */
const SETTLING_MS = HOUR_MS;
/** While the outcomes of a probe are too few, they are counted again after this time. */
const RECOUNT_MS = 10 * MINUTE_MS;
const STEP_MS = 5 * MINUTE_MS;
/** A rate that would exceed so many times the rate of a probe is no limit any more. */
const RECOVERED_FACTOR = 64;

export const readBreakerLimits = ({ breakers }: Pick<Config, 'breakers'>): BreakerLimits => ({
  complaints: {
    slowPercent: breakers.complaint_slow_percent,
    pausePercent: breakers.complaint_pause_percent,
    floor: breakers.complaint_floor,
    badMin: breakers.complaints_min,
  },
  bounces: {
    slowPercent: breakers.bounce_slow_percent,
    pausePercent: breakers.bounce_pause_percent,
    floor: breakers.bounce_floor,
    badMin: breakers.bounces_min,
  },
  windowMs: breakers.window_hours * HOUR_MS,
  slowRate: breakers.slow_messages_per_minute,
  pauseMs: breakers.pause_minutes * MINUTE_MS,
  probeRate: breakers.probe_messages_per_minute,
  probeRecipients: breakers.probe_recipients,
});

/** A share that is too high. */
interface Fault {
  level: 'slow' | 'pause';
  cause: BreakerCause;
  bad: number;
  of: number;
}

/** Lists the shares of both causes, complaints first. */
const listShares = ({ accepted, bounced, complained }: Figures, limits: BreakerLimits) => [
  { cause: 'complaints' as const, bad: complained, of: accepted, limits: limits.complaints },
  { cause: 'bounces' as const, bad: bounced, of: accepted + bounced, limits: limits.bounces },
];

/** Finds the share that is too high, the one beyond the higher limit first. */
function findFault(figures: Figures, limits: BreakerLimits): Fault | undefined {
  const shares = listShares(figures, limits).filter(({ bad, limits: { badMin } }) => bad >= badMin);
  const beyond = (level: Fault['level']): Fault | undefined => {
    const share = shares.find((one) => {
      const { slowPercent, pausePercent, floor } = one.limits;
      return isRateHigh(one, { percent: level === 'pause' ? pausePercent : slowPercent, floor });
    });
    return share && { level, cause: share.cause, bad: share.bad, of: share.of };
  };
  return beyond('pause') ?? beyond('slow');
}

/**
 * Finds whether a probe has failed: early if as much went wrong as pauses mail otherwise, and at its end if the share is above
 * the lower limit.
 */
function findProbeFault(figures: Figures, limits: BreakerLimits, isOver: boolean): Fault | undefined {
  const share = listShares(figures, limits).find((one) => {
    const { slowPercent, pausePercent, badMin } = one.limits;
    const isEarly = one.bad >= badMin && one.bad * 100 > pausePercent * one.of;
    return isEarly || (isOver && one.bad >= SEVERAL && one.bad * 100 > slowPercent * one.of);
  });
  return share && { level: 'pause', cause: share.cause, bad: share.bad, of: share.of };
}

/**
 * Chooses, of the figures of several spans of the same mail, the ones that mail is judged by: those of the first span whose share
 * is too high, beyond the higher limit if one is, or else those of the first one.
 */
export function chooseFigures(spans: readonly Figures[], limits: BreakerLimits): Figures {
  const level = (figures: Figures): Fault['level'] | undefined => findFault(figures, limits)?.level;
  return (
    spans.find((figures) => level(figures) === 'pause') ??
    spans.find((figures) => level(figures) === 'slow') ??
    spans[0] ?? { accepted: 0, bounced: 0, complained: 0 }
  );
}

export interface Decision {
  next: BreakerStatus;
  /** Only outcomes from now on count for the following decisions. */
  countsAnew: boolean;
}

/**
 * Decides what becomes of a breaker by the figures of its mail; undefined if it stays as it is. Without a breaker, the
 * decision is to make one.
 */
export function decideBreaker(
  before: BreakerStatus | undefined,
  figures: Figures,
  { limits, now }: { limits: BreakerLimits; now: number },
): Decision | undefined {
  const fault = findFault(figures, limits);
  if (before === undefined || before.state === 'closed') return fault && limit(before, fault, { limits, now });
  switch (before.state) {
    case 'slow':
      if (fault?.level === 'pause') return limit(before, fault, { limits, now });
      if (now < before.untilAt) return undefined;
      return fault ? limit(before, fault, { limits, now }) : raise(before, { limits, now });
    case 'paused':
      return now < before.untilAt ? undefined : probe(before, { limits, now });
    case 'probing':
      return judgeProbe(before, figures, { limits, now });
    case 'recovering':
      if (fault) return limit(before, fault, { limits, now });
      return now < before.untilAt ? undefined : raise(before, { limits, now });
  }
}

interface Moment {
  limits: BreakerLimits;
  now: number;
}

/** Slows mail down or pauses it; each further pause lasts twice as long. */
function limit(before: BreakerStatus | undefined, { level, cause, bad, of }: Fault, { limits, now }: Moment): Decision {
  const isOpen = before !== undefined && before.state !== 'closed';
  const trips = (before?.trips ?? 0) + (level === 'pause' ? 1 : 0);
  const pauseMs = Math.min(PAUSE_MS_MAX, limits.pauseMs * 2 ** Math.min(trips - 1, 20));
  return {
    next: {
      state: level === 'pause' ? 'paused' : 'slow',
      cause,
      trips,
      trippedAt: isOpen ? before.trippedAt : now,
      changedAt: now,
      untilAt: now + (level === 'pause' ? pauseMs : SETTLING_MS),
      rate: level === 'pause' ? null : limits.slowRate,
      bad,
      of,
    },
    countsAnew: false,
  };
}

/** Lets a few messages through, by which mail is judged anew. */
const probe = (before: BreakerStatus, { limits, now }: Moment): Decision => ({
  next: { ...before, state: 'probing', changedAt: now, untilAt: now + SETTLING_MS, rate: limits.probeRate },
  countsAnew: true,
});

function judgeProbe(before: BreakerStatus, figures: Figures, { limits, now }: Moment): Decision | undefined {
  const isKnown = figures.accepted + figures.bounced >= limits.probeRecipients;
  const isOver = isKnown && now >= before.changedAt + SETTLING_MS;
  const fault = findProbeFault(figures, limits, isOver);
  if (fault) return limit(before, fault, { limits, now });
  // Mail that is not sent cannot be judged; after the window, what tripped the breaker no longer counts.
  if (isOver || now >= before.changedAt + limits.windowMs) return raise(before, { limits, now });
  if (now < before.untilAt) return undefined;
  return { next: { ...before, untilAt: now + RECOUNT_MS }, countsAnew: false };
}

/** Doubles the rate, until it is no limit any more. */
function raise(before: BreakerStatus, { limits, now }: Moment): Decision {
  const rate = (before.rate ?? limits.probeRate) * 2;
  if (rate > limits.probeRate * RECOVERED_FACTOR) return { next: close(before, now), countsAnew: false };
  return {
    next: { ...before, state: 'recovering', changedAt: now, untilAt: now + STEP_MS, rate },
    countsAnew: false,
  };
}

/** Ends the limits of a breaker. */
export const close = (before: BreakerStatus, now: number): BreakerStatus => ({
  ...before,
  state: 'closed',
  changedAt: now,
  untilAt: now,
  rate: null,
});

/** A closed breaker is forgotten after this time; a trip after that is its first. */
const REMEMBERED_MS = 7 * 24 * HOUR_MS;
/** Clocks of nodes may differ by this much. */
const AHEAD_MS_MAX = 5 * MINUTE_MS;

/** Reports whether a closed breaker has nothing more to remember. */
export const isForgettable = ({ state, changedAt }: BreakerStatus, { limits, now }: Moment): boolean =>
  state === 'closed' && now >= changedAt + Math.max(REMEMBERED_MS, limits.windowMs);

/** Moves the times of a breaker that a clock which was ahead wrote, so that it lasts as long as it was meant to. */
export function correctTimes<Status extends BreakerStatus>(status: Status, now: number): Status {
  const aheadMs = status.changedAt - now;
  if (aheadMs <= AHEAD_MS_MAX) return status;
  return {
    ...status,
    trippedAt: Math.min(status.trippedAt, now),
    changedAt: now,
    untilAt: status.untilAt - aheadMs,
  };
}

/** Says which figures brought a limit about, as the end of a sentence after "because". */
export function describeFigures(
  { cause, bad, of }: Pick<BreakerStatus, 'cause' | 'bad' | 'of'>,
  { isOfTeam, windowHours }: { isOfTeam: boolean; windowHours: number },
): string {
  const whose = isOfTeam ? ' of all domains of the team' : '';
  const what = cause === 'complaints' ? 'reported it as spam' : 'bounced';
  return `${bad.toLocaleString('en-US')} of ${of.toLocaleString('en-US')} recipients${whose} ${what} within ${windowHours} hours`;
}

/** Says what follows, as the end of a sentence; empty if the limit says it all. */
export function describeNext({ state }: Pick<BreakerStatus, 'state'>): string {
  switch (state) {
    case 'paused':
      return '; then a few messages are tried';
    case 'probing':
      return '; it was paused, and a few messages are tried now';
    case 'recovering':
      return '; the limit is raised step by step';
    case 'slow':
    case 'closed':
      return '';
  }
}
