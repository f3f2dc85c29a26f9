import { anotherProgram, ApiFault, type Advice, type AnswerOf, type Client } from '../../cli/client/index.ts';
import { grouped, toneOfFinding, usageInWords, usage, type Tone } from '../../cli/families/index.ts';
import { clean, formatTime, createLineFormatter, toStyle } from '../../cli/output/index.ts';
import { chart, rateInWords } from '../draw/chart.ts';
import { inBrief } from '../draw/table.ts';
import { bars, bold, formatClock, faint, fit, gauge, shownWidth, wrap } from '../draw/text.ts';
import { isWide, follow, tried, type Host, type Offer, type Screen, type Size } from './screen.ts';
import { setTimeout as wait } from 'node:timers/promises';
import { computeStart } from './metrics-screen.ts';

type Metrics = AnswerOf<'getEmailMetrics'>;
type Finding = AnswerOf<'getFindings'>['findings'][number];
type Failure = AnswerOf<'listEmails'>['data'][number];

interface Seen {
  version?: string;
  checks?: AnswerOf<'getReady'>['checks'];
  findings?: readonly Finding[];
  /** The time of these values. */
  at?: number;
  metrics?: Metrics;
  queue?: AnswerOf<'getQueue'>;
  used?: readonly Parameters<typeof usageInWords>[0][];
  domains?: readonly { name: string; status: string }[];
  endpoints?: readonly { endpoint: string; status: string }[];
  /** The last 28 days, day by day. */
  days?: Metrics;
  /** Mail that did not arrive, the newest first. */
  failures?: readonly Failure[];
}

const HOURS = 24;
const DAYS = 28;
const METRICS = 'sent,delivered,delivery_delayed,bounced,complained,delivery_rate,bounce_rate,complaint_rate';
const FAILED = ['bounced', 'failed'] as const;
const FAILURES = 10;
/** Values that change slowly are requested less often, and last. */
const SLOW_MS = 30_000;
const PAUSE_MS = 300;

/**
 * Loads the content of the overview piece by piece: a screen must not use up the requests that the team has per second.
 */
class OverviewData {
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
    // The public findings show whether anything is wrong; those of this team, with details, take another request.
    const findings = known.length === 0 ? [] : (await client.call('getFindings', {}, signal)).findings;
    see({ version, checks, findings, at: Date.now() });
    const range = {
      start_date: computeStart({ pieces: HOURS, pieceMs: 3_600_000 }, Date.now()),
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
      start_date: computeStart({ pieces: DAYS, pieceMs: 86_400_000 }, Date.now()),
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

  /** Returns the state; a server that is not ready responds with an error that contains everything. */
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

/** Sums the last so many periods, with their rates: each email counts once in each of them. */
function sumPeriods({ data = [] }: Metrics, last: number) {
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

/** Another key is chosen when the console is started. */
const asOperator: Advice = { words: 'visible to operators only', command: ['console', '--profile', 'operator'] };

/** The column of the values, after a word. */
const VALUES_AT = 11;

/** The current state: the day's mail, whether it arrives, whether the server is well, how much of the plan is used. */
export class OverviewScreen implements Screen {
  readonly title = 'overview';
  readonly isWhole = true;
  readonly #host: Host;
  readonly #isOperators: boolean;
  readonly #data: OverviewData;
  #seen: Seen = {};
  #signal = AbortSignal.abort();
  #fault = '';

  constructor(host: Host) {
    this.#host = host;
    this.#isOperators = host.sections.some(({ isOperators }) => isOperators);
    this.#data = new OverviewData(host.client, this.#isOperators, (seen) => {
      this.#seen = { ...this.#seen, ...seen };
      host.changed();
    });
  }

  start(signal: AbortSignal): void {
    this.#signal = signal;
    void follow(this.#host, signal, { ...this.#following, everyMs: 5000 });
  }

  readonly #following = {
    load: (signal: AbortSignal): Promise<void> => this.#data.load(signal),
    tell: (fault: string): void => this.#setFault(fault),
  };

  #setFault(fault: string): void {
    if (fault !== this.#fault) this.#host.changed();
    this.#fault = fault;
  }

  draw({ columns, rows }: Size): string[] {
    const { metrics } = this.#seen;
    const health = [...this.#health().flatMap((line) => wrap(line, columns)), ''];
    if (!metrics) return [...health, ...(this.#fault === '' && this.#seen.checks ? [faint('  Loading …')] : [])];
    if (isWide(columns)) return [...health, ...this.#wide(metrics, { columns, rows: rows - health.length })];
    const isTall = rows >= 28;
    const lines = [
      ...health,
      ...this.#mail(metrics, isTall ? 6 : 4, columns),
      '',
      ...this.#queue(isTall ? 6 : 3).flatMap((line) => hanging(line, columns)),
      ...this.#attention().flatMap((line) => wrap(line, columns)),
      ...this.#usage(columns),
    ];
    if (rows - lines.length < 5) return lines;
    const more = [...this.#spans(metrics, columns), ...this.#failures(columns, 5), ...this.#destinations(columns)];
    return [...lines, '', ...more].slice(0, rows);
  }

  /** Draws the day next to the four weeks; below them the same in figures, and what blocks mail next to the usage. */
  #wide(metrics: Metrics, { columns, rows }: Size): string[] {
    const half = Math.floor((columns - 2) / 2);
    const height = rows >= 40 ? 9 : 6;
    const { days } = this.#seen;
    const left = this.#chart(metrics, { columns: half, height, title: 'the last 24 hours', ends: ['24 h ago', 'now'] });
    const right = days
      ? this.#chart(days, { columns: half, height, title: 'the last 28 days', ends: ['28 days ago', 'today'] })
      : [faint('  Loading …')];
    const top = [...pairs(left, right, half), '', ...this.#spans(metrics, columns)];
    const under = [
      ...this.#queue(3).flatMap((line) => hanging(line, half)),
      ...this.#attention().flatMap((line) => hanging(line, half)),
      ...this.#usage(half),
    ];
    const room = rows - top.length;
    const waiting = this.#destinations(half).slice(0, Math.max(4, Math.floor(room / 2)));
    const beside = [...waiting, ...this.#failures(half, Math.max(3, room - waiting.length - 2))];
    return [...top, ...pairs(under, beside, half)].slice(0, rows);
  }

  #chart(
    { data = [] }: Metrics,
    {
      columns,
      height,
      title,
      ends,
    }: { columns: number; height: number; title: string; ends: readonly [string, string] },
  ): string[] {
    const values = data.map((row) => row.sent ?? 0);
    const paint = (text: string): string => this.#host.terminal.paint('green', text);
    const lines = chart({ values, height, columns: columns - 4, paint, ends });
    return [`  ${bold(`Mail of ${title}`)}`, ...lines.map((line) => `  ${line}`)];
  }

  /** A day, a week and four of them, in figures. */
  #spans(metrics: Metrics, columns: number): string[] {
    const { days } = this.#seen;
    if (!days) return [];
    const { terminal } = this.#host;
    const spans = [sumPeriods(metrics, HOURS), sumPeriods(days, 7), sumPeriods(days, 28)];
    const width = Math.max(14, Math.min(32, Math.floor((columns - 14) / 3)));
    const line = (label: string, cells: readonly string[]): string =>
      `  ${label.padEnd(12)}${cells.map((cell) => fit(cell, width)).join('')}`;
    const rate = (what: 'bounced' | 'complained') =>
      spans.map((span) =>
        rateInWords(terminal, what, {
          count: span[what],
          rate: what === 'bounced' ? span.bounceRate : span.complaintRate,
        }),
      );
    return [
      faint(line('', ['24 hours', '7 days', '28 days'])),
      line(
        'sent',
        spans.map(({ sent }) => bold(grouped(sent))),
      ),
      line(
        'delivered',
        spans.map(({ delivered, deliveryRate }) => `${grouped(delivered)} (${deliveryRate} %)`),
      ),
      line('bounced', rate('bounced')),
      line('complained', rate('complained')),
      line(
        'delayed',
        spans.map(({ delayed }) => grouped(delayed)),
      ),
      '',
    ];
  }

  /** Draws mail that did not arrive, the newest first. */
  #failures(columns: number, most: number): string[] {
    const { failures } = this.#seen;
    if (!failures) return [];
    const title = `  ${bold('Recent failures')}`;
    if (failures.length === 0) return [`${title}  ${faint('none')}`];
    const lines = failures.slice(0, most).map((email) => `  ${this.#failure(email)}`);
    return [`${title}  ${faint(':emails status=bounced')}`, ...lines.map((one) => fit(one, columns))];
  }

  #failure({ created_at: at, last_event: state, to, subject }: Failure): string {
    const when = inBrief(formatTime({ ...this.#host.terminal, isTty: true }, at));
    return `${when}  ${this.#tone('bad', `✗ ${state}`)}  ${clean(to.join(', '))}  ${clean(subject)}`;
  }

  /** Draws destinations for which mail waits, a line each: how much, since when, and how its last try ended. */
  #destinations(columns: number): string[] {
    const { queue } = this.#seen;
    if (!queue || queue.destinations.length === 0) return [];
    const { destinations, as_of: now } = queue;
    const width = Math.max(...destinations.map(({ destination }) => shownWidth(clean(destination))));
    const lines = destinations.map(({ destination, deliveries, oldest_at: since, hold_reason: held }) => {
      const age = since === null ? 'scheduled' : formatAge(since, now);
      const hold = held === null ? '' : this.#tone('attention', `  ! held: ${clean(held)}`);
      return `  ${fit(clean(destination), width)}${grouped(deliveries).padStart(8)}${age.padStart(11)}${hold}`;
    });
    const head = `  ${bold(fit('Destinations', Math.max(width, 12)))}${faint('waiting'.padStart(8 - Math.max(0, 12 - width)))}${faint('oldest'.padStart(11))}`;
    return [head, ...lines.map((line) => fit(line, columns)), ''];
  }

  #tone(tone: Tone, text: string): string {
    return this.#host.terminal.paint(toStyle(tone), text);
  }

  #health(): string[] {
    const { version, checks, findings = [], at } = this.#seen;
    // Faults are shown in the same place as on every other screen.
    if (!checks) return [faint(this.#fault === '' ? '  Loading …' : '  Nothing was loaded yet.')];
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
    const since = this.#host.lostSince === undefined ? '' : `as of ${formatClock(at ?? 0)}: `;
    const first = [state, ...wrong, faint(['rasket', clean(version ?? '')].join(' ')), told.join(', ')].join('  ');
    return [`  ${bold('Server')}   ${since}${first}`];
  }

  /** Draws the gravest finding, and the number of the others. */
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
      `${bold(grouped(totals.sent ?? 0))} sent, ${grouped(totals.delivered ?? 0)} delivered (${totals.delivery_rate ?? 0} %)`,
      this.#rate('bounced', totals.bounced, totals.bounce_rate),
      this.#rate('complained', totals.complained, totals.complaint_rate),
      `${grouped(totals.delivery_delayed ?? 0)} delayed`,
    ];
    // The figures are never cut: the bars take the space that they leave, or go above them.
    const room = columns - 4 - Math.max(...rates.map(shownWidth));
    const isBeside = room >= HOURS;
    const perBar = Math.max(1, Math.min(6, Math.floor((isBeside ? room : columns - 4) / HOURS)));
    const chart = bars(sent, height, perBar);
    const beside = isBeside ? rates : [];
    return [
      `  ${bold('Mail of the last 24 hours')}  ${faint(`one bar per hour, at most ${grouped(most)}`)}`,
      ...chart.map(
        (line, at) =>
          `  ${this.#host.terminal.paint('green', line)}${beside[at] === undefined ? '' : `  ${beside[at]}`}`,
      ),
      `  ${faint(axis(perBar))}`,
      ...(isBeside ? [] : rates.flatMap((line) => wrap(`  ${line}`, columns))),
    ];
  }

  #rate(what: 'bounced' | 'complained', count: number | undefined, rate: number | undefined): string {
    return rateInWords(this.#host.terminal, what, { count, rate, name: ` ${what}` });
  }

  /** Draws the queue: how much waits, for how long, and where most of it goes. */
  #queue(most: number): string[] {
    const { queue } = this.#seen;
    if (!this.#isOperators) return [`  ${bold('Queue')}    ${faint(createLineFormatter()(asOperator) ?? '')}`];
    if (!queue) return [];
    const { deliveries, destinations, destination_count: count, as_of: now } = queue;
    if (deliveries === 0) return [`  ${bold('Queue')}    nothing waits`];
    const told = destinations.slice(0, most).map(({ destination, deliveries: waits, oldest_at: since }) => {
      const age = since === null ? '' : ` (${formatAge(since, now)})`;
      return `${clean(destination)} ${grouped(waits)}${age}`;
    });
    const more = count > told.length ? `, ${count - told.length} more destinations` : '';
    const where = count === 1 ? '1 destination' : `${count} destinations`;
    return [`  ${bold('Queue')}    ${grouped(deliveries)} waiting, for ${where}: ${told.join(', ')}${more}`];
  }

  /** Draws what requires an action of somebody. */
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

/** Two columns, each `half` wide. */
const pairs = (left: readonly string[], right: readonly string[], half: number): string[] =>
  Array.from(
    { length: Math.max(left.length, right.length) },
    (_, at) => `${fit(left[at] ?? '', half)}  ${right[at] ?? ''}`,
  );

const axis = (perBar: number): string => `${'24 h ago'.padEnd(HOURS * perBar - 3)}now`;

/** Formats an age in the single unit that fits best. */
function formatAge(since: string, now: string): string {
  const minutes = Math.max(0, Math.floor((Date.parse(now) - Date.parse(since)) / 60_000));
  if (minutes < 60) return `${minutes} min`;
  return minutes < 48 * 60 ? `${Math.floor(minutes / 60)} h` : `${Math.floor(minutes / 1440)} days`;
}

/** Wraps a line of a word and its value, with the further lines below the value. */
function hanging(line: string, width: number): string[] {
  const [first = '', ...more] = wrap(line, width);
  const below = more.flatMap((text) => wrap(text.trimStart(), width - VALUES_AT));
  return [first, ...below.map((text) => ' '.repeat(VALUES_AT) + text)];
}
