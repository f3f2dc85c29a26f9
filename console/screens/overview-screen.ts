import { anotherProgram, ApiFault, type Advice, type AnswerOf } from '../../cli/client/index.ts';
import { toneOfFinding, usage, usageInWords, type Tone } from '../../cli/families/index.ts';
import { clean, sayOnLine, styleOf } from '../../cli/output/index.ts';
import { bars, bold, clockOf, faint, gauge, shownWidth, wrap } from '../draw/text.ts';
import { follow, tried, type Host, type Offer, type Screen, type Size } from './screen.ts';

type Metrics = AnswerOf<'getEmailMetrics'>;
type Check = AnswerOf<'getReady'>['checks'][number];
type Finding = AnswerOf<'getFindings'>['findings'][number];

interface Seen {
  version?: string;
  checks?: readonly Check[];
  findings?: readonly Finding[];
  /** When these were so. */
  at?: number;
  metrics?: Metrics;
  queue?: AnswerOf<'getQueue'>;
  used?: readonly Parameters<typeof usageInWords>[0][];
  domains?: readonly { name: string; status: string }[];
  endpoints?: readonly { endpoint: string; status: string }[];
}

/** Another key is chosen where the console is started. */
const asOperator: Advice = { words: 'seen by operators alone', command: ['console', '--profile', 'operator'] };

const HOURS = 24;
const HOUR_MS = 3_600_000;
const METRICS = 'sent,delivered,delivery_delayed,bounced,complained,delivery_rate,bounce_rate,complaint_rate';
/** From where mailbox providers begin to look, and from where they begin to refuse (percent). */
const BOUNCES = [4, 10] as const;
const COMPLAINTS = [0.1, 0.3] as const;

/** How things are: the day's mail, whether it arrives, whether the server is well, how much of the plan is used. */
export class OverviewScreen implements Screen {
  readonly title = 'overview';
  readonly #host: Host;
  #seen: Seen = {};
  #signal = AbortSignal.abort();
  #fault = '';

  constructor(host: Host) {
    this.#host = host;
  }

  start(signal: AbortSignal): void {
    this.#signal = signal;
    void follow(this.#host, signal, { ...this.#following, everyMs: 5000 });
  }

  readonly #following = {
    load: (signal: AbortSignal): Promise<void> => this.#load(signal),
    tell: (fault: string): void => this.#tell(fault),
  };

  /** One after the other: a screen must not use up what the team may ask in a second. */
  async #load(signal: AbortSignal): Promise<void> {
    const { client, changed } = this.#host;
    const see = (seen: Seen): void => {
      this.#seen = { ...this.#seen, ...seen };
      changed();
    };
    const { version } = await client.call('getHealth', {}, signal);
    const { checks, findings: known = [] } = await this.#ready(signal);
    // What anybody is told says whether there is anything; what of it concerns this team, and in detail, is another question.
    const findings = known.length === 0 ? [] : (await client.call('getFindings', {}, signal)).findings;
    see({ version, checks, findings, at: Date.now() });
    const since = new Date(Math.floor(Date.now() / HOUR_MS + 1) * HOUR_MS - HOURS * HOUR_MS).toISOString();
    const query = { start_date: since, granularity: 'hourly', dimensions: 'period', metrics: METRICS } as const;
    see({ metrics: await client.call('getEmailMetrics', { query }, signal) });
    if (this.#host.sections.some(({ isOperators }) => isOperators))
      see({ queue: await client.call('getQueue', {}, signal) });
    see({ used: usage.report.rows((await client.call('getUsage', {}, signal)) as never) as Seen['used'] & object });
    see({ domains: (await client.call('listDomains', { query: { limit: 100 } }, signal)).data });
    see({ endpoints: (await client.call('listWebhooks', { query: { limit: 100 } }, signal)).data });
  }

  /** A server that is not ready answers as an error and yet says everything. */
  async #ready(signal: AbortSignal): Promise<Pick<AnswerOf<'getReady'>, 'checks'> & { findings?: readonly unknown[] }> {
    try {
      const ready = await this.#host.client.call('getReady', {}, signal);
      if (Array.isArray(ready.checks)) return ready;
      throw anotherProgram(this.#host.client.url);
    } catch (error) {
      if (error instanceof ApiFault && 'checks' in error.body) return error.body as never;
      throw error;
    }
  }

  #tell(fault: string): void {
    if (fault !== this.#fault) this.#host.changed();
    this.#fault = fault;
  }

  draw({ columns, rows }: Size): string[] {
    const { metrics } = this.#seen;
    const height = rows >= 28 ? 6 : 4;
    return [
      ...this.#health().flatMap((line) => wrap(line, columns)),
      '',
      ...(metrics ? this.#mail(metrics, height, columns) : this.#fault === '' ? [faint('  Loading …')] : []),
      '',
      ...this.#queue(rows >= 28 ? 6 : 3).flatMap((line) => wrap(line, columns)),
      ...this.#attention().flatMap((line) => wrap(line, columns)),
      ...this.#usage(columns),
    ];
  }

  #tone(tone: Tone, text: string): string {
    return this.#host.terminal.paint(styleOf(tone), text);
  }

  #health(): string[] {
    const { version, checks, findings = [], at } = this.#seen;
    if (!checks) return [this.#fault === '' ? faint('  Loading …') : this.#tone('bad', `  ✗ ${clean(this.#fault)}`)];
    const failed = checks.filter(({ ok }) => !ok);
    const isReady = failed.length === 0;
    const [state, ...wrong] = [
      ...(isReady ? [] : [this.#tone('bad', '✗ not ready')]),
      ...this.#gravest(findings),
      ...(isReady && findings.length === 0 ? [this.#tone('good', '✓ ready')] : []),
    ];
    const told = checks.map(({ name, ok, error }) =>
      ok ? `${clean(name)} ok` : this.#tone('bad', clean(`${name} failed${error ? `: ${error}` : ''}`)),
    );
    const since = this.#host.lostSince === undefined ? '' : `as of ${clockOf(at ?? 0)}: `;
    const first = [state, ...wrong, faint(['rasket', clean(version ?? '')].join(' ')), told.join(', ')].join('  ');
    return [`  ${bold('Server')}   ${since}${first}`];
  }

  /** What is wrong most, and how much else is. */
  #gravest([first, ...more]: readonly Finding[]): string[] {
    if (!first) return [];
    const mark = first.severity === 'error' ? '✗' : '!';
    const told = this.#tone(toneOfFinding(first), `${mark} ${clean(first.summary)}`);
    return [told, more.length === 0 ? 'More: :findings' : `And ${more.length} more: :findings`];
  }

  #mail({ data = [], totals }: Metrics, height: number, columns: number): string[] {
    const sent = data.map((row) => row.sent ?? 0);
    const most = Math.max(0, ...sent);
    const rates = [
      `${bold(String(totals.sent ?? 0))} sent, ${totals.delivered ?? 0} delivered (${totals.delivery_rate ?? 0} %)`,
      this.#rate('bounced', totals.bounced, totals.bounce_rate, BOUNCES),
      this.#rate('complained', totals.complained, totals.complaint_rate, COMPLAINTS),
      `${totals.delivery_delayed ?? 0} delayed`,
    ];
    // The figures are never cut: the bars are as wide as these leave room for, or stand above them.
    const room = columns - 4 - Math.max(...rates.map(shownWidth));
    const isBeside = room >= HOURS;
    const perBar = Math.max(1, Math.min(6, Math.floor((isBeside ? room : columns - 4) / HOURS)));
    const chart = bars(sent, height, perBar);
    const beside = isBeside ? rates : [];
    return [
      `  ${bold('Mail of the last 24 hours')}  ${faint(`an hour a bar, at most ${most}`)}`,
      ...chart.map(
        (line, at) =>
          `  ${this.#host.terminal.paint('green', line)}${beside[at] === undefined ? '' : `  ${beside[at]}`}`,
      ),
      `  ${faint(axis(perBar))}`,
      ...(isBeside ? [] : rates.flatMap((line) => wrap(`  ${line}`, columns))),
    ];
  }

  #rate(what: string, count = 0, rate = 0, [high, tooHigh]: readonly [number, number]): string {
    const tone: Tone = rate >= tooHigh ? 'bad' : rate >= high ? 'attention' : 'plain';
    const words = { plain: '', good: '', attention: ' ! high', bad: ' ✗ too high' }[tone];
    return this.#tone(tone, `${count} ${what} (${rate} %)${words}`);
  }

  /** How much waits, for how long, and where most of it goes. */
  #queue(most: number): string[] {
    const { queue } = this.#seen;
    if (!this.#host.sections.some(({ isOperators }) => isOperators))
      return [`  ${bold('Queue')}    ${faint(sayOnLine()(asOperator) ?? '')}`];
    if (!queue) return [];
    const { deliveries, destinations, destination_count: count, as_of: now } = queue;
    if (deliveries === 0) return [`  ${bold('Queue')}    nothing waits`];
    const told = destinations.slice(0, most).map(({ destination, deliveries: waits, oldest_at: since }) => {
      const age = since === null ? '' : ` (${ageOf(since, now)})`;
      return `${clean(destination)} ${waits}${age}`;
    });
    const more = count > told.length ? `, ${count - told.length} more destinations` : '';
    const where = count === 1 ? '1 destination' : `${count} destinations`;
    return [`  ${bold('Queue')}    ${deliveries} waiting, for ${where}: ${told.join(', ')}${more}`];
  }

  /** What waits for somebody to do something. */
  #attention(): string[] {
    const { domains, endpoints } = this.#seen;
    if (!domains || !endpoints) return [];
    const broken = domains.filter(({ status }) => status === 'failed' || status === 'temporary_failure');
    const off = endpoints.filter(({ status }) => status !== 'enabled');
    const verified = domains.filter(({ status }) => status === 'verified').length;
    return [
      `  ${bold('Domains')}  ${verified} of ${domains.length} verified${this.#named(
        broken.map(({ name }) => name),
        'broken',
      )}`,
      `  ${bold('Webhooks')} ${endpoints.length - off.length} of ${endpoints.length} enabled${this.#named(
        off.map(({ endpoint }) => endpoint),
        'disabled',
      )}`,
      '',
    ];
  }

  #named(names: readonly string[], what: string): string {
    return names.length === 0 ? '' : `  ${this.#tone('bad', `✗ ${what}: ${clean(names.slice(0, 3).join(', '))}`)}`;
  }

  #usage(columns: number): string[] {
    const width = Math.min(30, Math.max(10, columns - 60));
    return (this.#seen.used ?? []).map((line) => {
      const { what, used, limit } = usageInWords(line);
      const label = `  ${what.padEnd(19)}`;
      if (line.limit === null) return `${label}${used} ${faint('no limit')}`;
      const share = line.used / line.limit;
      const tone: Tone = share >= 1 ? 'bad' : share >= 0.8 ? 'attention' : 'plain';
      return `${label}${this.#tone(tone, gauge(share, width))} ${used} of ${limit}${share >= 0.8 ? this.#tone(tone, ' !') : ''}`;
    });
  }

  note = (): string => this.#fault;
  refresh = (): void => void tried(this.#host, this.#signal, this.#following);
  key = (): boolean => false;
  keys = (): readonly (readonly [string, string])[] => [];
  offers = (): readonly Offer[] => [];
  copy = (): string | undefined => undefined;
}

const axis = (perBar: number): string => `${'24 h ago'.padEnd(HOURS * perBar - 3)}now`;

/** In the one unit that says it best. */
function ageOf(since: string, now: string): string {
  const minutes = Math.max(0, Math.floor((Date.parse(now) - Date.parse(since)) / 60_000));
  if (minutes < 60) return `${minutes} min`;
  return minutes < 48 * 60 ? `${Math.floor(minutes / 60)} h` : `${Math.floor(minutes / 1440)} days`;
}
