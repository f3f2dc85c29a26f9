import type { Internet } from '../../src/features/rehearsal/start.ts';
import type { SeenSummary } from '../../src/features/rehearsal/index.ts';
import type { Appliance, Body } from './appliance.ts';

/** One row of the report: a provider, or all servers of their own that behave alike. */
export interface ProviderRow {
  provider: string;
  receivers: number;
  recipients: number;
  accepted: number;
  waiting: number;
  deferred: number;
  bounced: number;
  complaints: number;
  connections: number;
  /** The largest numbers at any one receiver. */
  max_connections: number;
  max_messages_per_minute: number;
  /** How often each rule of the receiver was met. */
  refusals: Record<string, number>;
}

export interface Waiting {
  destination: string;
  emails: number;
  next_attempt_at: string | null;
  reason: string;
}

export interface Report {
  profile: string;
  messages: number;
  transactional: number;
  speed: number;
  simulated_seconds: number;
  real_seconds: number;
  /** false if the time was over, or the command was interrupted, before all mail had ended. */
  is_complete: boolean;
  held: string | null;
  outcomes: Record<string, number>;
  transactional_delay_seconds: { median: number; longest: number } | null;
  providers: ProviderRow[];
  suppressed: { bounces: number; complaints: number };
  waiting: Waiting[];
  duplicates: number;
  reports_to_come: number;
}

/** Adds up what the receivers saw by provider, with the recipients that are still without an outcome. */
export function tallyProviders(internet: Internet, recipients: readonly string[]): ProviderRow[] {
  const families = new Map(internet.domains.map(({ name, receiver }) => [name, receiver.provider]));
  const rows = new Map<string, ProviderRow>();
  const find = (provider: string): ProviderRow => {
    const row = rows.get(provider) ?? emptyRow(provider);
    rows.set(provider, row);
    return row;
  };
  for (const { provider } of internet.receivers) find(provider).receivers += 1;
  for (const address of recipients) find(families.get(extractDomain(address)) ?? '').recipients += 1;
  for (const seen of internet.seen.summarize()) addSummary(find(seen.family), seen);
  for (const row of rows.values()) row.waiting = Math.max(0, row.recipients - row.accepted - row.bounced);
  return [...rows.values()].toSorted((a, b) => b.recipients - a.recipients);
}

function addSummary(row: ProviderRow, seen: SeenSummary): void {
  row.accepted += seen.accepted;
  row.deferred += seen.deferred;
  row.bounced += seen.refused;
  row.complaints += seen.complaints;
  row.connections += seen.connections;
  row.max_connections = Math.max(row.max_connections, seen.maxConnections);
  row.max_messages_per_minute = Math.max(row.max_messages_per_minute, seen.maxMessagesPerMinute);
  for (const [cause, count] of Object.entries(seen.causes)) row.refusals[cause] = (row.refusals[cause] ?? 0) + count;
}

const emptyRow = (provider: string): ProviderRow => ({
  provider,
  receivers: 0,
  recipients: 0,
  accepted: 0,
  waiting: 0,
  deferred: 0,
  bounced: 0,
  complaints: 0,
  connections: 0,
  max_connections: 0,
  max_messages_per_minute: 0,
  refusals: {},
});

const extractDomain = (address: string): string => address.slice(address.lastIndexOf('@') + 1).toLowerCase();

/** Counts the emails by state, from the list of the API, and corrects the numbers of the providers by it. */
export async function countOutcomes(
  { call }: Appliance,
  internet: Internet,
  providers: readonly ProviderRow[],
): Promise<Record<string, number>> {
  const families = new Map(internet.domains.map(({ name, receiver }) => [name, receiver.provider]));
  for (const row of providers) Object.assign(row, { waiting: 0, bounced: 0 });
  const outcomes: Record<string, number> = {};
  for await (const { to, last_event: state } of pages(call, '/emails')) {
    outcomes[String(state)] = (outcomes[String(state)] ?? 0) + 1;
    const [address = ''] = to as string[];
    const family = families.get(extractDomain(address));
    const row = providers.find(({ provider }) => provider === family);
    if (!row) continue;
    if (WAITING.has(String(state))) row.waiting += 1;
    if (['bounced', 'failed'].includes(String(state))) row.bounced += 1;
  }
  return outcomes;
}

const WAITING = new Set(['queued', 'scheduled', 'sent', 'delivery_delayed']);

/** Counts suppressed addresses by their origin. */
export async function countSuppressions({ call }: Appliance): Promise<Report['suppressed']> {
  const found = { bounces: 0, complaints: 0 };
  for await (const { origin } of pages(call, '/suppressions')) {
    if (origin === 'bounce') found.bounces += 1;
    if (origin === 'complaint') found.complaints += 1;
  }
  return found;
}

async function* pages(call: Appliance['call'], target: string): AsyncGenerator<Body> {
  for (let after = ''; ;) {
    const page = await call('GET', `${target}?limit=100${after}`);
    const rows = page['data'] as Body[];
    yield* rows;
    if (page['has_more'] !== true) return;
    after = `&after=${String(rows.at(-1)?.['id'])}`;
  }
}

interface Queue {
  deliveries: number;
  states: Record<string, number>;
  destinations: {
    destination: string;
    deliveries: number;
    next_attempt_at: string | null;
    hold_reason: string | null;
    last_attempt: { reply: string | null; explanation: string } | null;
  }[];
}

/** Returns the queue as an operator sees it. */
export const readQueue = ({ callAsOperator }: Appliance): Promise<Queue> =>
  callAsOperator('GET', '/operator/queue') as Promise<unknown> as Promise<Queue>;

export const listWaiting = ({ destinations }: Queue): Waiting[] =>
  destinations.map(({ destination, deliveries, next_attempt_at, hold_reason, last_attempt }) => ({
    destination,
    emails: deliveries,
    next_attempt_at,
    reason: hold_reason ?? last_attempt?.reply ?? last_attempt?.explanation ?? 'it waits for its turn',
  }));

/** Returns how long transactional mail took from the request to the acceptance by the receiver. */
export function measureDelay(
  { seen }: Internet,
  sentAt: ReadonlyMap<string, number>,
): Report['transactional_delay_seconds'] {
  const delays: number[] = [];
  for (const { at, recipients } of seen.messages) {
    const [recipient = ''] = recipients;
    const begun = sentAt.get(recipient);
    if (begun !== undefined) delays.push((at - begun) / 1000);
  }
  if (delays.length === 0) return null;
  const sorted = delays.toSorted((a, b) => a - b);
  return { median: round(sorted[sorted.length >> 1] ?? 0), longest: round(sorted.at(-1) ?? 0) };
}

const round = (seconds: number): number => Math.round(seconds * 10) / 10;

const COLUMNS = [
  ['provider', ({ provider, receivers }: ProviderRow) => (receivers > 1 ? `${provider} (${receivers})` : provider)],
  ['accepted', ({ accepted }: ProviderRow) => accepted],
  ['waiting', ({ waiting }: ProviderRow) => waiting],
  ['deferred', ({ deferred }: ProviderRow) => deferred],
  ['bounced', ({ bounced }: ProviderRow) => bounced],
  ['complaints', ({ complaints }: ProviderRow) => complaints],
  ['connections', ({ max_connections: most }: ProviderRow) => most],
  ['per minute', ({ max_messages_per_minute: most }: ProviderRow) => most],
] as const;

/** Formats the providers as a table of plain lines. */
export function formatProviders(rows: readonly ProviderRow[]): string {
  const table = [
    COLUMNS.map(([name]) => name as string),
    ...rows.map((row) => COLUMNS.map(([, read]) => String(read(row)))),
  ];
  const widths = COLUMNS.map((_, at) => Math.max(...table.map((line) => line[at]?.length ?? 0)));
  return table
    .map((line) =>
      line.map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0))).join('  '),
    )
    .join('\n');
}

const LISTED = 10;

/** Formats the whole report for a person. */
export function formatReport(report: Report): string {
  const { profile, messages, transactional, speed, held } = report;
  const sections = [
    `Report on the rehearsal ${profile}: ${messages} emails of a broadcast, and ${transactional} transactional.`,
    `${formatEnd(report)} ${formatDuration(report.simulated_seconds)}${
      speed === 1
        ? ''
        : ` of simulated time (${formatDuration(report.real_seconds)} at ${speed} times the speed), and all times below are simulated`
    }. No real mail server was involved.`,
    ...(held === null ? [] : [`The broadcast is on hold: ${held}.`]),
    `\nWhat each provider saw, with the most connections and messages per minute at one receiver:\n\n${formatProviders(report.providers)}`,
    `\nOutcomes: ${formatCounts(report.outcomes) || 'none'}`,
    ...formatDelay(report),
    `Suppressed from now on: ${report.suppressed.bounces} after bounces, ${report.suppressed.complaints} after complaints`,
    `Delivered twice: ${report.duplicates}`,
    ...(report.reports_to_come === 0 ? [] : [`Bounces and complaints still to come: ${report.reports_to_come}`]),
    ...formatRefusals(report.providers),
    ...formatWaiting(report.waiting),
  ];
  return sections.join('\n');
}

function formatEnd({ is_complete: isComplete, held }: Report): string {
  if (isComplete) return 'It took';
  return held === null
    ? 'It was ended, with mail still waiting, after'
    : 'It stopped, with the broadcast on hold, after';
}

function formatDelay({ transactional_delay_seconds: delay }: Report): string[] {
  if (!delay) return [];
  return [`Transactional mail was accepted after ${delay.median} s (median), ${delay.longest} s at most`];
}

const formatCounts = (counts: Readonly<Record<string, number>>): string =>
  Object.entries(counts)
    .toSorted(([, a], [, b]) => b - a)
    .map(([name, count]) => `${count} ${name}`)
    .join(', ');

function formatRefusals(providers: readonly ProviderRow[]): string[] {
  const refused = providers.filter(({ refusals }) => Object.keys(refusals).length > 0);
  if (refused.length === 0) return [];
  return [
    '\nRefusals by rule:',
    '',
    ...refused.map(({ provider, refusals }) => `${provider}: ${formatCounts(refusals)}`),
  ];
}

function formatWaiting(waiting: readonly Waiting[]): string[] {
  if (waiting.length === 0) return ['\nNothing is waiting.'];
  const lines = waiting.slice(0, LISTED).map(({ destination, emails, next_attempt_at: next, reason }) => {
    const until = next === null ? '' : ` until ${next.slice(11, 19)}`;
    return `${destination}: ${emails}${until}: ${reason}`;
  });
  const more = waiting.length - LISTED;
  return ['\nStill waiting:', '', ...lines, ...(more > 0 ? [`and ${more} more destinations`] : [])];
}

export function formatDuration(seconds: number): string {
  const whole = Math.round(seconds);
  if (whole < 120) return `${whole} s`;
  const minutes = Math.floor(whole / 60);
  if (minutes < 120) return `${minutes} min ${whole % 60} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
