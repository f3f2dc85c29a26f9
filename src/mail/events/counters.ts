import type { EventType } from './event.ts';

interface Counted {
  of: readonly EventType[];
  /** Only bounces of this type. */
  bounce?: 'Transient' | 'Permanent' | 'Undetermined';
  /** Counts every event; all others count an email once, at its first event of the kind. */
  isEvery?: true;
  /** Counts only opens and clicks by machines, which no other counter includes. */
  isMachine?: true;
}

/**
 * The counters and the events that they count. They count emails, not recipients: several recipients share one body, so
 * an open cannot be attributed to a recipient, and a rate whose halves count different things is meaningless.
 */
export const COUNTED = {
  received: { of: ['email.queued', 'email.scheduled'] },
  sent: { of: ['email.sent'] },
  delivered: { of: ['email.delivered'] },
  delivery_delayed: { of: ['email.delivery_delayed'] },
  bounced: { of: ['email.bounced'] },
  bounced_transient: { of: ['email.bounced'], bounce: 'Transient' },
  bounced_permanent: { of: ['email.bounced'], bounce: 'Permanent' },
  bounced_undetermined: { of: ['email.bounced'], bounce: 'Undetermined' },
  complained: { of: ['email.complained'] },
  suppressed: { of: ['email.suppressed'] },
  failed: { of: ['email.failed'] },
  opened: { of: ['email.opened'], isEvery: true },
  clicked: { of: ['email.clicked'], isEvery: true },
  unique_opened: { of: ['email.opened'] },
  unique_clicked: { of: ['email.clicked'] },
  machine_opened: { of: ['email.opened'], isEvery: true, isMachine: true },
  machine_clicked: { of: ['email.clicked'], isEvery: true, isMachine: true },
  unsubscribed: { of: ['email.unsubscribed'] },
} as const satisfies Record<string, Counted>;

export type Counter = keyof typeof COUNTED;
export type Counts = Record<Counter, number>;

export const COUNTERS = Object.keys(COUNTED) as Counter[];

export const countedAs = (counter: Counter): Counted => COUNTED[counter];

export const noCounts = (): Counts => Object.fromEntries(COUNTERS.map((counter) => [counter, 0])) as Counts;

const BY_TYPE = new Map<string, Counter[]>();
for (const counter of COUNTERS) {
  for (const type of countedAs(counter).of) BY_TYPE.set(type, [...(BY_TYPE.get(type) ?? []), counter]);
}

const NONE: readonly Counter[] = [];

/** The fields of an event that decide which counters it adds to. */
export interface CountedEvent {
  type: string;
  /** The type of the bounce that it reports, if it reports one. */
  bounce?: string | undefined;
  isMachine?: boolean;
}

/** Returns the counters that an event may add to. */
export function listCounters({ type, bounce, isMachine = false }: CountedEvent): readonly Counter[] {
  const counters = BY_TYPE.get(type) ?? NONE;
  if (type === 'email.bounced')
    return counters.filter((counter) => [undefined, bounce].includes(countedAs(counter).bounce));
  if (!READINGS.has(type)) return counters;
  return counters.filter((counter) => (countedAs(counter).isMachine ?? false) === isMachine);
}

const READINGS = new Set(['email.opened', 'email.clicked']);
