import { createHash } from 'node:crypto';
import type { CreateBroadcastRequest } from '../../../contract/index.ts';
import type { Executor } from '../../../platform/db/index.ts';
import { isoTime } from '../../../platform/clock.ts';
import { refuse, type FieldFault, type Refusal } from '../../../platform/refusal.ts';
import type { ContentCheck } from '../../../protocol/content-checks.ts';
import { variantCounts, type VariantCount } from '../broadcast-recipients/broadcast-recipients.store.ts';
import type { DomainRow } from '../../../mail/domains/index.ts';
import { messageFaults } from '../../templates/index.ts';
import type { BroadcastRow } from './broadcasts.store.ts';

/** An A/B test as it is stored. The broadcast's own subject is the first one and not in `subjects`. */
export interface AbTest {
  subjects: string[];
  test_percent: number;
  wait_minutes: number;
}

export type DecidedBy = 'clicks' | 'tie' | 'no_clicks' | 'not_measured';

export interface Decision {
  winner: number;
  decided_by: DecidedBy;
  /** Counts that the decision is based on. */
  counts: VariantCount[];
}

export const readAbTest = ({ ab_test: test }: Pick<BroadcastRow, 'ab_test'>): AbTest | undefined =>
  test === null ? undefined : (JSON.parse(test) as AbTest);

export const readDecision = ({ ab_decision: decision }: Pick<BroadcastRow, 'ab_decision'>): Decision | undefined =>
  decision === null ? undefined : (JSON.parse(decision) as Decision);

/** Returns all subjects of a broadcast, its own first. */
export const listSubjects = (row: Pick<BroadcastRow, 'subject' | 'ab_test'>): string[] => [
  row.subject,
  ...(readAbTest(row)?.subjects ?? []),
];

/** Checks that each subject meets the rules for subjects and occurs only once. */
export function abTestFaults(subject: string, test: CreateBroadcastRequest['ab']): FieldFault[] {
  const faults = (test?.subjects ?? []).flatMap((other, i) =>
    messageFaults({ subject: other }).map(({ message }) => ({
      path: `ab.subjects.${i}`,
      message: `ab.subjects.${i}: ${message}`,
    })),
  );
  if (!test || new Set([subject, ...test.subjects]).size > test.subjects.length) return faults;
  return [...faults, { path: 'ab.subjects', message: 'ab.subjects and subject must differ from each other.' }];
}

/**
 * Returns the index of the subject that an address gets in the test; undefined if it is not in the test. The result is
 * always the same for the same address.
 */
export function variantFor(broadcastId: string, emailKey: string, test: AbTest): number | undefined {
  const hash = createHash('sha256').update(`${broadcastId} ${emailKey}`).digest();
  if (hash.readUInt32BE(0) >= (test.test_percent / 100) * 2 ** 32) return undefined;
  return hash.readUInt32BE(4) % (test.subjects.length + 1);
}

/**
 * Picks the subject that most people clicked; the first of them in a tie, and the first of all if nobody clicked or if
 * clicks were not tracked.
 */
export function decide(counts: VariantCount[], { isMeasured }: { isMeasured: boolean }): Decision {
  if (!isMeasured) return { winner: 0, decided_by: 'not_measured', counts };
  const most = Math.max(0, ...counts.map(({ clicked }) => clicked));
  const best = counts.filter(({ clicked }) => clicked === most);
  const decidedBy = most === 0 ? 'no_clicks' : best.length > 1 ? 'tie' : 'clicks';
  return { winner: most === 0 ? 0 : (best[0]?.variant ?? 0), decided_by: decidedBy, counts };
}

export type AbCheck = Omit<ContentCheck, 'name'> & { name: 'ab' };

/** Warns if the broadcast tries several subjects but clicks are not tracked, so that they cannot decide. */
export function checkAbTest(row: Pick<BroadcastRow, 'ab_test'>, domain: DomainRow | undefined): AbCheck[] {
  if (row.ab_test === null) return [];
  if (domain?.click_tracking === 1) {
    return [{ name: 'ab', status: 'pass', message: 'Clicks are tracked and decide the subject.', details: [] }];
  }
  const message = `Clicks are not tracked on ${domain?.name ?? 'the domain'}, so they cannot decide the subject, and the remaining contacts get subject. Enable click_tracking of the domain.`;
  return [{ name: 'ab', status: 'warn', message, details: [] }];
}

/** Presents the test with current counts until it is decided, and then with the counts that decided it. */
export async function presentAbTest(db: Executor, row: BroadcastRow) {
  const test = readAbTest(row);
  if (!test) return null;
  const subjects = listSubjects(row);
  const decision = readDecision(row);
  const counts = decision?.counts ?? (await variantCounts(db, row.id, subjects.length));
  return {
    test_percent: test.test_percent,
    wait_minutes: test.wait_minutes,
    variants: subjects.map((subject, i) => ({
      subject,
      recipients: counts[i]?.recipients ?? 0,
      clicked: counts[i]?.clicked ?? 0,
    })),
    winner: decision ? (subjects[decision.winner] ?? null) : null,
    decided_by: decision?.decided_by ?? null,
    decides_at: row.ab_decides_at === null ? null : isoTime(row.ab_decides_at),
  };
}

export function notTogether(): Refusal {
  const message =
    'ab and local_time cannot be used together, because clicks would be counted before all test emails are sent; send only one of them.';
  const errors = [
    { path: 'ab', message: 'ab cannot be used with local_time.' },
    { path: 'local_time', message: 'local_time cannot be used with ab.' },
  ];
  return refuse('validation_error', { status: 422, say: message, errors });
}
