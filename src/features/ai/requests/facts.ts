import { normalizeAddress, parseMailbox } from '../../../protocol/address/index.ts';
import { explainDelivery, type Ended } from '../../../protocol/explain-delivery/index.ts';

/** What is known of an email, as the API tells it. */
export interface EmailHistory {
  email: { last_event: string; created_at: string; to: string[]; cc: string[]; bcc: string[] };
  /** Newest first, as are the tries. */
  events: readonly { type: string; created_at: string; data: Record<string, unknown> | null }[];
  attempts: readonly Attempt[];
  pending: readonly { destination: string; state: string; attempts: number; until: string | null }[];
  suppressed: readonly { email: string; origin: string }[];
}

interface Attempt {
  created_at: string;
  attempt: number;
  destination: string;
  mx: string | null;
  address: string | null;
  tls: object | null;
  recipients: readonly (Ended & { email: string })[];
}

/** What one try, or one event, meant for somebody. */
export interface Meaning {
  outcome: string;
  /** SMTP codes, where a mail server answered. */
  code: string | null;
  /** A sentence of ours, as is the advice. */
  meaning: string;
  advice: string | null;
}

export interface EmailFacts {
  state: string;
  accepted_at: string;
  /** Recipients are told apart by number alone. */
  recipients: { number: number; domain: string }[];
  events: { at: string; type: string; recipients: number[]; by_machine?: true; result?: Meaning }[];
  attempts: {
    at: string;
    attempt: number;
    domain: string;
    is_encrypted: boolean;
    results: (Meaning & { recipient: number })[];
  }[];
  pending: { domain: string; state: string; attempts: number; until: string | null }[];
  suppressed: { recipient: number; because: string }[];
}

/**
 * All that a model is told of an email, oldest first: domains of recipients, states, times, and sentences of ours. Nothing that
 * somebody else wrote goes in: of what mail servers said, the codes alone, because their words repeat addresses and subjects.
 */
export function factsOf({ email, events, attempts, pending, suppressed }: EmailHistory): EmailFacts {
  const numbers = numberRecipients(email);
  return {
    state: wordIn(STATES, email.last_event),
    accepted_at: timeOf(email.created_at),
    recipients: [...numbers].map(([address, number]) => ({ number, domain: domainOf(address) })),
    events: events.toReversed().map((event) => eventFact(event, numbers)),
    attempts: attempts.toReversed().map((attempt) => attemptFact(attempt, numbers)),
    pending: pending.map(({ destination, state, attempts: tries, until }) => ({
      domain: hostOf(destination),
      state: wordIn(PENDING, state),
      attempts: Number(tries),
      until: until === null ? null : timeOf(until),
    })),
    suppressed: suppressed.map(({ email: address, origin }) => ({
      recipient: numberOf(numbers, address),
      because: wordIn(ORIGINS, origin),
    })),
  };
}

const STATES = [
  ...['queued', 'scheduled', 'sent', 'delivered', 'delivery_delayed', 'bounced', 'complained', 'suppressed'],
  ...['failed', 'canceled', 'opened', 'clicked', 'unsubscribed'],
] as const;
const PENDING = ['waiting', 'under_way', 'in_doubt', 'awaits_domain', 'held'] as const;
const ORIGINS = ['bounce', 'complaint', 'manual'] as const;

type Numbers = ReadonlyMap<string, number>;

function numberRecipients({ to, cc, bcc }: EmailHistory['email']): Numbers {
  const addresses = [...to, ...cc, ...bcc].map(bareAddress);
  return new Map([...new Set(addresses)].map((address, index) => [address, index + 1]));
}

function bareAddress(written: string): string {
  const parsed = parseMailbox(written);
  return normalizeAddress(parsed.ok ? parsed.mailbox.address : written);
}

/** 0 stands for one that is none of the recipients, as a report may name. */
const numberOf = (numbers: Numbers, address: string): number => numbers.get(bareAddress(address)) ?? 0;

const domainOf = (address: string): string => hostOf(address.slice(address.lastIndexOf('@') + 1));

const hostOf = (name: string): string => (/^[\p{L}\p{N}][\p{L}\p{N}.-]{0,252}$/u.test(name) ? name : 'unreadable');

const wordIn = (words: readonly string[], word: string): string => (words.includes(word) ? word : 'other');

const timeOf = (text: string): string => {
  const at = Date.parse(text);
  return Number.isNaN(at) ? 'unknown' : new Date(at).toISOString();
};

function eventFact({ type, created_at: at, data }: EmailHistory['events'][number], numbers: Numbers) {
  const to = Array.isArray(data?.['to']) ? data['to'].map(String) : [];
  const ended = endedOf(type, data ?? {});
  return {
    at: timeOf(at),
    type: wordIn(STATES, type.replace(/^email\./, '')),
    recipients: to.map((address) => numberOf(numbers, address)),
    ...(data?.['machine'] === true ? { by_machine: true as const } : {}),
    ...(ended ? { result: meaningOf(ended) } : {}),
  };
}

/** What an event says of the end of a delivery; undefined where it tells of none. */
function endedOf(type: string, data: Record<string, unknown>): Ended | undefined {
  const part = (name: string) => (data[name] ?? {}) as Record<string, unknown>;
  const firstOf = (codes: unknown): string | null =>
    Array.isArray(codes) && codes.length > 0 ? String(codes[0]) : null;
  switch (type) {
    case 'email.bounced':
      return { outcome: 'bounced', reason: null, reply: firstOf(part('bounce')['diagnosticCode']) };
    case 'email.suppressed':
      return { outcome: 'suppressed', reason: null, reply: null };
    case 'email.failed':
      return { outcome: 'failed', reason: String(part('failed')['reason'] ?? ''), reply: null };
    default:
      return undefined;
  }
}

function attemptFact(attempt: Attempt, numbers: Numbers) {
  return {
    at: timeOf(attempt.created_at),
    attempt: Number(attempt.attempt),
    domain: hostOf(attempt.destination),
    is_encrypted: attempt.tls !== null,
    results: attempt.recipients.map((recipient) => ({
      recipient: numberOf(numbers, recipient.email),
      ...meaningOf(recipient, attempt),
    })),
  };
}

const OUTCOMES = ['delivered', 'deferred', 'bounced', 'suppressed', 'failed', 'ambiguous'] as const;

function meaningOf(ended: Ended, peer?: Pick<Attempt, 'mx' | 'address'>): Meaning {
  const outcome = OUTCOMES.find((known) => known === ended.outcome) ?? 'failed';
  const { sentence, advice } = explainDelivery({ ...ended, outcome }, peer);
  return { outcome, code: codeIn(ended.reply), meaning: sentence, advice };
}

/** RFC 5321 §4.2 and RFC 3463: three digits, and three numbers that say more. */
function codeIn(reply: string | null): string | null {
  const basic = /^\D{0,40}([245]\d\d)(?!\d)/.exec(reply ?? '')?.[1];
  const enhanced = /(?<![\d.])([245]\.\d{1,3}\.\d{1,3})(?![\d.])/.exec(reply ?? '')?.[1];
  return [basic, enhanced].filter((code) => code !== undefined).join(' ') || null;
}
