import { anotherProgram, ApiFault, type AnswerOf, type Client } from '../../cli/client/index.ts';
import { usage, type usageInWords } from '../../cli/families/index.ts';
import { setTimeout as wait } from 'node:timers/promises';
import { startOf } from './metrics-screen.ts';

export type Metrics = AnswerOf<'getEmailMetrics'>;
export type Finding = AnswerOf<'getFindings'>['findings'][number];
export type Failure = AnswerOf<'listEmails'>['data'][number];

export interface Seen {
  version?: string;
  checks?: AnswerOf<'getReady'>['checks'];
  findings?: readonly Finding[];
  /** When these were so. */
  at?: number;
  metrics?: Metrics;
  queue?: AnswerOf<'getQueue'>;
  used?: readonly Parameters<typeof usageInWords>[0][];
  domains?: readonly { name: string; status: string }[];
  endpoints?: readonly { endpoint: string; status: string }[];
  /** The last 28 days, day by day. */
  days?: Metrics;
  /** What arrived nowhere, the newest first. */
  failures?: readonly Failure[];
}

const HOURS = 24;
const DAYS = 28;
const METRICS = 'sent,delivered,delivery_delayed,bounced,complained,delivery_rate,bounce_rate,complaint_rate';
const FAILED = ['bounced', 'failed'] as const;
const FAILURES = 10;
/** What changes slowly is asked less often, and after the rest. */
const SLOW_MS = 30_000;
const PAUSE_MS = 300;

/** Asks for all that the overview tells, piece by piece: a screen must not use up what the team may ask in a second. */
export class OverviewData {
  readonly #client: Client;
  readonly #isOperators: boolean;
  readonly #see: (seen: Seen) => void;
  #slowAt = -Infinity;

  constructor(client: Client, isOperators: boolean, see: (seen: Seen) => void) {
    this.#client = client;
    this.#isOperators = isOperators;
    this.#see = see;
  }

  async load(signal: AbortSignal): Promise<void> {
    const client = this.#client;
    const see = this.#see;
    const health = (await client.call('getHealth', {}, signal)) as AnswerOf<'getHealth'> | null;
    if (health === null) throw anotherProgram(client.url);
    const { version } = health;
    const { checks, findings: known = [] } = await this.#ready(signal);
    // What anybody is told says whether there is anything; what of it concerns this team, and in detail, is another question.
    const findings = known.length === 0 ? [] : (await client.call('getFindings', {}, signal)).findings;
    see({ version, checks, findings, at: Date.now() });
    const range = {
      start_date: startOf({ pieces: HOURS, pieceMs: 3_600_000 }, Date.now()),
      granularity: 'hourly',
    } as const;
    see({ metrics: await this.#metrics(range, signal) });
    if (this.#isOperators) see({ queue: await client.call('getQueue', {}, signal) });
    see({ used: usage.report.rows((await client.call('getUsage', {}, signal)) as never) as Seen['used'] & object });
    see({ domains: (await client.call('listDomains', { query: { limit: 100 } }, signal)).data });
    see({ endpoints: (await client.call('listWebhooks', { query: { limit: 100 } }, signal)).data });
    if (Date.now() - this.#slowAt >= SLOW_MS) await this.#loadSlow(signal);
  }

  async #loadSlow(signal: AbortSignal): Promise<void> {
    await wait(PAUSE_MS, undefined, { signal, ref: false });
    const range = {
      start_date: startOf({ pieces: DAYS, pieceMs: 86_400_000 }, Date.now()),
      granularity: 'daily',
    } as const;
    this.#see({ days: await this.#metrics(range, signal) });
    const failures: Failure[] = [];
    for (const status of FAILED)
      failures.push(...(await this.#client.call('listEmails', { query: { status, limit: FAILURES } }, signal)).data);
    failures.sort((a, b) => Date.parse(b.created_at) - Date.parse(a.created_at));
    this.#see({ failures: failures.slice(0, FAILURES) });
    this.#slowAt = Date.now();
  }

  #metrics(range: { start_date: string; granularity: 'hourly' | 'daily' }, signal: AbortSignal): Promise<Metrics> {
    return this.#client.call(
      'getEmailMetrics',
      { query: { ...range, dimensions: 'period', metrics: METRICS } },
      signal,
    );
  }

  /** A server that is not ready answers as an error and yet says everything. */
  async #ready(signal: AbortSignal): Promise<Pick<AnswerOf<'getReady'>, 'checks'> & { findings?: readonly unknown[] }> {
    try {
      const ready = await this.#client.call('getReady', {}, signal);
      if (Array.isArray(ready.checks)) return ready;
      throw anotherProgram(this.#client.url);
    } catch (error) {
      if (error instanceof ApiFault && 'checks' in error.body) return error.body as never;
      throw error;
    }
  }
}

interface Sums {
  sent: number;
  delivered: number;
  delayed: number;
  bounced: number;
  complained: number;
}

const share = (part: number, whole: number): number => (whole === 0 ? 0 : Math.round((part / whole) * 10_000) / 100);

/** The sums of the last so many periods, with their rates: each email counts once for each of them. */
export function sumsOf({ data = [] }: Metrics, last: number) {
  const sums: Sums = { sent: 0, delivered: 0, delayed: 0, bounced: 0, complained: 0 };
  for (const row of data.slice(-last)) {
    sums.sent += row.sent ?? 0;
    sums.delivered += row.delivered ?? 0;
    sums.delayed += row.delivery_delayed ?? 0;
    sums.bounced += row.bounced ?? 0;
    sums.complained += row.complained ?? 0;
  }
  return {
    ...sums,
    deliveryRate: share(sums.delivered, sums.sent),
    bounceRate: share(sums.bounced, sums.sent),
    complaintRate: share(sums.complained, sums.delivered),
  };
}
