import { createHash } from 'node:crypto';
import type { Executor } from '../../platform/db/index.ts';
import type { Ctx } from '../../tenancy/access/index.ts';
import { findDiagnosis, putDiagnosis } from './ai.store.ts';
import { normalizeAddress, parseMailbox } from '../../protocol/address/index.ts';
import { explainDelivery, type Ended } from '../../protocol/explain-delivery.ts';

export interface Diagnosis {
  summary: string;
  likely_causes: string[];
  next_steps: string[];
}

const LINES_MAX = 10;

/** Explains what happened to an email by rules alone. A model gets the same facts to word. */
export function diagnose(facts: EmailFacts): Diagnosis {
  const troubles = collectTroubles(facts);
  const causes = troubles.map(({ domain, meaning, code }) => `${at(domain)}${meaning}${code ? ` (${code})` : ''}`);
  const steps = [
    ...troubles.flatMap(({ advice }) => (advice === null ? [] : [advice])),
    ...facts.pending.map(describeNext),
    ...facts.suppressed.map(suppressedStep(facts)),
  ];
  return {
    summary: `${SUMMARIES[facts.state] ?? SUMMARIES['other']} ${recipientsInWords(facts)}`,
    likely_causes: firstOnes([...causes, ...(facts.state === 'complained' ? [COMPLAINT] : [])]),
    next_steps: firstOnes(steps.length > 0 ? steps : ['No action is needed.']),
  };
}

const SUMMARIES: Readonly<Record<string, string>> = {
  queued: 'It was accepted and has not been sent yet.',
  scheduled: 'It was accepted, to be sent later.',
  sent: 'Its delivery has begun, and nobody has taken it yet.',
  delivered: 'It was delivered.',
  delivery_delayed: 'Its delivery is delayed.',
  bounced: 'It bounced.',
  complained: 'It was delivered, and a recipient marked it as spam.',
  suppressed: 'It was not sent, because the address is suppressed.',
  failed: 'It could not be sent.',
  canceled: 'It was canceled before it was sent.',
  opened: 'It was delivered and opened.',
  clicked: 'It was delivered, and a link in it was clicked.',
  unsubscribed: 'It was delivered, and its reader unsubscribed.',
  other: 'It is in a state that has no name here.',
};

const COMPLAINT = 'A recipient marked it as spam: they did not expect it, or could not find how to leave.';

interface Trouble extends Meaning {
  domain: string | undefined;
}

/** Returns the last result of each recipient unless it is a delivery, including those that only events report. */
function collectTroubles({ events, attempts, recipients }: EmailFacts): Trouble[] {
  const findDomain = (number: number): string | undefined => recipients.find((one) => one.number === number)?.domain;
  const latest = new Map<string, Trouble>();
  for (const { domain, results } of attempts)
    for (const { recipient, ...result } of results) latest.set(`${domain} ${recipient}`, { ...result, domain });
  const ended = [...latest.values()].filter(({ outcome }) => outcome !== 'delivered');
  const told = events.flatMap(({ result, recipients: to }) =>
    result === undefined ? [] : [{ ...result, domain: findDomain(to[0] ?? 0) }],
  );
  const known = new Set(ended.map(toKey));
  return distinct([...ended, ...told.filter((trouble) => !known.has(toKey(trouble)))]);
}

const toKey = ({ domain, outcome }: Trouble): string => `${domain} ${outcome}`;

function distinct(troubles: readonly Trouble[]): Trouble[] {
  return [...new Map(troubles.map((one) => [`${one.domain} ${one.meaning}`, one])).values()];
}

const at = (domain: string | undefined): string => (domain === undefined ? '' : `${domain}: `);

const NEXT: Readonly<Record<string, string>> = {
  waiting: 'will be retried automatically',
  under_way: 'is being tried at this moment',
  in_doubt: 'may have it or not; it is never sent twice',
  awaits_domain: 'waits until the sending domain is verified again',
  held: 'is held by the operator of this server',
};

const describeNext = ({ domain, state, until }: EmailFacts['pending'][number]): string =>
  `${domain} ${NEXT[state] ?? 'is still open'}${until === null ? '' : ` (${until})`}.`;

const suppressedStep =
  ({ recipients }: EmailFacts) =>
  ({ recipient, because }: EmailFacts['suppressed'][number]): string => {
    const domain = recipients.find(({ number }) => number === recipient)?.domain;
    return `A recipient${domain === undefined ? '' : ` at ${domain}`} is suppressed (${because}): take the address off the list of suppressions if it is good again.`;
  };

function recipientsInWords({ recipients }: EmailFacts): string {
  const domains = [...new Set(recipients.map(({ domain }) => domain))];
  const many = recipients.length === 1 ? 'one recipient' : `${recipients.length} recipients`;
  const shown = domains.slice(0, LINES_MAX).join(', ');
  return `It has ${many}, at ${shown}${domains.length > LINES_MAX ? ' and others' : ''}.`;
}

const firstOnes = (lines: readonly string[]): string[] => [...new Set(lines)].slice(0, LINES_MAX);

/** History of an email, as the API returns it. */
export interface EmailHistory {
  email: { last_event: string; created_at: string; to: string[]; cc: string[]; bcc: string[] };
  /** Newest first, like the attempts. */
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

/** Meaning of one attempt, or one event, for a recipient. */
interface Meaning {
  outcome: string;
  /** SMTP codes, if a mail server replied. */
  code: string | null;
  /** A sentence of ours, like the advice. */
  meaning: string;
  advice: string | null;
}

export interface EmailFacts {
  state: string;
  accepted_at: string;
  /** Recipients are distinguished only by number. */
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
 * Returns all facts that a model gets about an email, oldest first: domains of recipients, states, times, and sentences
 * of ours. Contains nothing that others wrote: of replies of mail servers only the codes, because their text repeats
 * addresses and subjects.
 */
export function buildFacts({ email, events, attempts, pending, suppressed }: EmailHistory): EmailFacts {
  const numbers = numberRecipients(email);
  return {
    state: wordIn(STATES, email.last_event),
    accepted_at: formatTime(email.created_at),
    recipients: [...numbers].map(([address, number]) => ({ number, domain: extractDomain(address) })),
    events: events.toReversed().map((event) => eventFact(event, numbers)),
    attempts: attempts.toReversed().map((attempt) => attemptFact(attempt, numbers)),
    pending: pending.map(({ destination, state, attempts: tries, until }) => ({
      domain: toReadableHost(destination),
      state: wordIn(PENDING, state),
      attempts: Number(tries),
      until: until === null ? null : formatTime(until),
    })),
    suppressed: suppressed.map(({ email: address, origin }) => ({
      recipient: findNumber(numbers, address),
      because: wordIn(ORIGINS, origin),
    })),
  };
}

const STATES = [
  'queued',
  'scheduled',
  'sent',
  'delivered',
  'delivery_delayed',
  'bounced',
  'complained',
  'suppressed',
  'failed',
  'canceled',
  'opened',
  'clicked',
  'unsubscribed',
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

/** Returns the number of a recipient; 0 if the address, which a report may name, is none of them. */
const findNumber = (numbers: Numbers, address: string): number => numbers.get(bareAddress(address)) ?? 0;

const extractDomain = (address: string): string => toReadableHost(address.slice(address.lastIndexOf('@') + 1));

const toReadableHost = (name: string): string =>
  /^[\p{L}\p{N}][\p{L}\p{N}.-]{0,252}$/u.test(name) ? name : 'unreadable';

const wordIn = (words: readonly string[], word: string): string => (words.includes(word) ? word : 'other');

const formatTime = (text: string): string => {
  const at = Date.parse(text);
  return Number.isNaN(at) ? 'unknown' : new Date(at).toISOString();
};

function eventFact({ type, created_at: at, data }: EmailHistory['events'][number], numbers: Numbers) {
  const to = Array.isArray(data?.['to']) ? data['to'].map(String) : [];
  const ended = readEnd(type, data ?? {});
  return {
    at: formatTime(at),
    type: wordIn(STATES, type.replace(/^email\./, '')),
    recipients: to.map((address) => findNumber(numbers, address)),
    ...(data?.['machine'] === true ? { by_machine: true as const } : {}),
    ...(ended ? { result: explainEnd(ended) } : {}),
  };
}

/** Returns the end of a delivery that an event reports; undefined if it reports none. */
function readEnd(type: string, data: Record<string, unknown>): Ended | undefined {
  const part = (name: string) => (data[name] ?? {}) as Record<string, unknown>;
  const firstCode = (codes: unknown): string | null =>
    Array.isArray(codes) && codes.length > 0 ? String(codes[0]) : null;
  switch (type) {
    case 'email.bounced':
      return { outcome: 'bounced', reason: null, reply: firstCode(part('bounce')['diagnosticCode']) };
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
    at: formatTime(attempt.created_at),
    attempt: Number(attempt.attempt),
    domain: toReadableHost(attempt.destination),
    is_encrypted: attempt.tls !== null,
    results: attempt.recipients.map((recipient) => ({
      recipient: findNumber(numbers, recipient.email),
      ...explainEnd(recipient, attempt),
    })),
  };
}

const OUTCOMES = ['delivered', 'deferred', 'bounced', 'suppressed', 'failed', 'ambiguous'] as const;

function explainEnd(ended: Ended, peer?: Pick<Attempt, 'mx' | 'address'>): Meaning {
  const outcome = OUTCOMES.find((known) => known === ended.outcome) ?? 'failed';
  const { sentence, advice } = explainDelivery({ ...ended, outcome }, peer);
  return { outcome, code: codeIn(ended.reply), meaning: sentence, advice };
}

/** Extracts the codes of RFC 5321 §4.2 and RFC 3463: three digits, and three numbers with more detail. */
function codeIn(reply: string | null): string | null {
  const basic = /^\D{0,40}([245]\d\d)(?!\d)/.exec(reply ?? '')?.[1];
  const enhanced = /(?<![\d.])([245]\.\d{1,3}\.\d{1,3})(?![\d.])/.exec(reply ?? '')?.[1];
  return [basic, enhanced].filter((code) => code !== undefined).join(' ') || null;
}

/** Hashes the state of an email and the author of its diagnosis, since another model may word it better. */
export const hashOfState = (facts: EmailFacts, author: string): string =>
  createHash('sha256')
    .update(JSON.stringify([author, facts]))
    .digest('hex');

interface Stored {
  diagnosis: Diagnosis;
  createdAt: number;
}

/** Returns the diagnosis of exactly this state. */
export async function storedDiagnosis(
  db: Executor,
  { emailId, stateHash }: { emailId: string; stateHash: string },
): Promise<Stored | undefined> {
  const row = await findDiagnosis(db, emailId);
  if (row?.state_hash !== stateHash) return undefined;
  return { diagnosis: JSON.parse(row.diagnosis) as Diagnosis, createdAt: Number(row.created_at) };
}

export async function keepDiagnosis(
  tx: Executor,
  { store, teamId }: Ctx,
  { emailId, stateHash, diagnosis }: { emailId: string; stateHash: string; diagnosis: Diagnosis },
): Promise<number> {
  const createdAt = store.clock.now();
  await putDiagnosis(tx, {
    email_id: emailId,
    team_id: teamId,
    state_hash: stateHash,
    diagnosis: JSON.stringify(diagnosis),
    created_at: createdAt,
  });
  return createdAt;
}
