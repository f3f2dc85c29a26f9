import { COUNTERS, noCounts, type Counts } from '../../mail/events/index.ts';

/** What the rows of one answer are about, apart from their period. */
export interface Subject {
  domainId?: string | undefined;
  emailId?: string | undefined;
  broadcastId?: string | undefined;
}

/** Counts by subject and period. Subjects of which nothing is counted do not show. */
export interface Tally {
  add(subject: Subject, period: number, counts: Counts): void;
  /** Counts of one subject; those of a period are missing where there is nothing. */
  subjects(): { subject: Subject; periods: Map<number, Counts> }[];
  total(): Counts;
}

export function createTally(): Tally {
  const entries = new Map<string, { subject: Subject; periods: Map<number, Counts> }>();
  const total = noCounts();
  return {
    add(subject, period, counts) {
      if (COUNTERS.every((counter) => counts[counter] === 0)) return;
      const key = `${subject.broadcastId} ${subject.domainId} ${subject.emailId}`;
      let entry = entries.get(key);
      if (!entry) entries.set(key, (entry = { subject, periods: new Map() }));
      let sums = entry.periods.get(period);
      if (!sums) entry.periods.set(period, (sums = noCounts()));
      for (const counter of COUNTERS) {
        sums[counter] += counts[counter];
        total[counter] += counts[counter];
      }
    },
    subjects: () => [...entries].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, entry]) => entry),
    total: () => total,
  };
}
