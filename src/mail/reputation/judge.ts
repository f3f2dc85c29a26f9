import { isRateHigh, RATE_LIMITS, SEVERAL } from '../../contract/index.ts';
import type { ReplyCause } from '../../protocol/smtp-reply/index.ts';

export interface CauseCount {
  /** Empty if the replies name none. */
  cause: ReplyCause | '';
  recipients: number;
}

/** Outcomes of the mail of some time. A recipient that is deferred several times counts each time. */
export interface Outcomes {
  accepted: number;
  deferred: readonly CauseCount[];
  bounced: readonly CauseCount[];
  complained: number;
}

export type Level = 'good' | 'watch' | 'bad' | 'unknown';

export interface Rates {
  deferred: number | null;
  bounced: number | null;
  complained: number | null;
}

export type Direction = 'better' | 'worse' | 'same';

/** Mail with fewer attempts is not judged. */
const JUDGED_MIN = 20;

/** Causes that a receiver names because it does not trust the source or the sending domain. */
const OF_TRUST: ReadonlySet<string> = new Set<ReplyCause>(['ip_reputation', 'domain_reputation', 'ptr_helo', 'rate']);

type Measure = 'complained' | 'distrusted' | 'bounced' | 'deferred';

interface Limit {
  measure: Measure;
  level: 'watch' | 'bad';
  percent: number;
  floor: number;
}

/**
 * The limits, gravest first. Those of bounces and complaints that are bad are the ones above which providers block a sender. A
 * small number of recipients is judged by wider limits.
 */
const LIMITS: readonly Limit[] = [
  { measure: 'complained', level: 'bad', ...RATE_LIMITS.complained },
  { measure: 'distrusted', level: 'bad', percent: 10, floor: JUDGED_MIN },
  { measure: 'bounced', level: 'bad', ...RATE_LIMITS.bounced },
  { measure: 'complained', level: 'watch', percent: 0.1, floor: 1000 },
  { measure: 'complained', level: 'watch', percent: 1, floor: 100 },
  { measure: 'distrusted', level: 'watch', percent: 2, floor: JUDGED_MIN },
  { measure: 'bounced', level: 'watch', percent: 2, floor: 200 },
  { measure: 'bounced', level: 'watch', percent: 10, floor: JUDGED_MIN },
  { measure: 'deferred', level: 'watch', percent: 50, floor: JUDGED_MIN },
];

export const sumCauses = (counts: readonly CauseCount[]): number =>
  counts.reduce((sum, { recipients }) => sum + recipients, 0);

/** Counts accepted, deferred and bounced recipients together. */
export const countAttempts = ({ accepted, deferred, bounced }: Outcomes): number =>
  accepted + sumCauses(deferred) + sumCauses(bounced);

/** Returns the bad part of each measure, and what it is a part of. */
function measure(outcomes: Outcomes): Record<Measure, { bad: number; of: number }> {
  const { accepted, deferred, bounced, complained } = outcomes;
  const attempts = countAttempts(outcomes);
  const distrusted = [...deferred, ...bounced].filter(({ cause }) => OF_TRUST.has(cause));
  return {
    complained: { bad: complained, of: accepted },
    distrusted: { bad: sumCauses(distrusted), of: attempts },
    bounced: { bad: sumCauses(bounced), of: accepted + sumCauses(bounced) },
    deferred: { bad: sumCauses(deferred), of: attempts },
  };
}

/** Judges how mail was taken, and says in a sentence what decided it. */
export function judge(outcomes: Outcomes): { level: Level; reason: string } {
  const measured = measure(outcomes);
  const broken = LIMITS.find((limit) => isRateHigh(measured[limit.measure], limit));
  if (broken) return { level: broken.level, reason: explain(broken, measured[broken.measure], outcomes) };
  const attempts = countAttempts(outcomes);
  if (attempts < JUDGED_MIN)
    return { level: 'unknown', reason: `Fewer than ${JUDGED_MIN} recipients are too few to judge.` };
  return {
    level: 'good',
    reason: 'Bounces, complaints and refusals for lack of trust are within their limits.',
  };
}

function explain({ measure: what, level, percent }: Limit, { bad, of }: { bad: number; of: number }, all: Outcomes) {
  const share = `${roundPercent((bad * 100) / of)} %`;
  const attention = `above ${percent} % it needs attention`;
  switch (what) {
    case 'complained':
      return `${share} of the accepted recipients complained; ${level === 'bad' ? `above ${percent} % providers block a sender` : attention}.`;
    case 'bounced':
      return `${share} of the recipients bounced; ${level === 'bad' ? `above ${percent} % providers block a sender` : attention}.`;
    case 'distrusted':
      return `${share} of the attempts were refused because the provider does not trust the source or the domain (${listDistrust(all)}); ${level === 'bad' ? `above ${percent} % is bad` : attention}.`;
    case 'deferred':
      return `${share} of the attempts were deferred; ${attention}.`;
  }
}

const listDistrust = ({ deferred, bounced }: Outcomes): string =>
  [...new Set([...deferred, ...bounced].map(({ cause }) => cause).filter((cause) => OF_TRUST.has(cause)))]
    .toSorted()
    .join(', ');

const roundPercent = (percent: number): number => Math.round(percent * 100) / 100;

/** Returns the rates in per cent: of accepted and bounced recipients, and for complaints of accepted ones. */
export function computeRates({ accepted, deferred, bounced, complained }: Outcomes): Rates {
  const ended = accepted + sumCauses(bounced);
  const share = (part: number, whole: number): number | null =>
    whole === 0 ? null : roundPercent((part * 100) / whole);
  return {
    deferred: share(sumCauses(deferred), ended),
    bounced: share(sumCauses(bounced), ended),
    complained: share(complained, accepted),
  };
}

/** A rate has changed clearly if it moved by this many percentage points, and by a quarter of what it was. */
const CLEAR_POINTS: Readonly<Record<Measure, number>> = { complained: 0.05, distrusted: 1, bounced: 0.5, deferred: 2 };
const CLEAR_SHARE = 0.25;

/** Compares mail with that of the days before; undefined if there was too little mail then or now. */
export function compare(now: Outcomes, before: Outcomes): Direction | undefined {
  if (countAttempts(now) < JUDGED_MIN || countAttempts(before) < JUDGED_MIN) return undefined;
  const current = measure(now);
  const previous = measure(before);
  const measures = Object.keys(CLEAR_POINTS) as Measure[];
  if (measures.some((one) => hasRisen(one, { from: previous[one], to: current[one] }))) return 'worse';
  return measures.some((one) => hasRisen(one, { from: current[one], to: previous[one] })) ? 'better' : 'same';
}

/** Reports whether a rate is clearly higher than another one. */
function hasRisen(
  what: Measure,
  { from, to }: { from: { bad: number; of: number }; to: { bad: number; of: number } },
): boolean {
  if (to.bad < SEVERAL || to.of === 0 || from.of === 0) return false;
  const lower = (from.bad * 100) / from.of;
  const higher = (to.bad * 100) / to.of;
  return higher - lower >= CLEAR_POINTS[what] && higher - lower >= lower * CLEAR_SHARE;
}
