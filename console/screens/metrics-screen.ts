import type { AnswerOf } from '../../cli/client/index.ts';
import { grouped, buildTotals } from '../../cli/families/index.ts';
import { clean } from '../../cli/output/index.ts';
import { joinColumns, bold, faint, fit, inHand, shownWidth, wholes } from '../draw/text.ts';
import { chart, rateInWords } from '../draw/chart.ts';
import { linesInWords, linesSeen, computePosition } from '../draw/scroll.ts';
import { follow, tried, type Host, type Offer, type Screen, type Size } from './screen.ts';

type Metrics = AnswerOf<'getEmailMetrics'>;

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

const SPANS = [
  { label: '24 hours', granularity: 'hourly', pieces: 24, pieceMs: HOUR_MS, word: 'one bar per hour' },
  { label: '7 days', granularity: 'daily', pieces: 7, pieceMs: DAY_MS, word: 'one bar per day' },
  { label: '28 days', granularity: 'daily', pieces: 28, pieceMs: DAY_MS, word: 'one bar per day' },
  { label: '90 days', granularity: 'daily', pieces: 90, pieceMs: DAY_MS, word: 'one bar per day' },
] as const;
type Span = (typeof SPANS)[number];

/** Returns the beginning of this span: whole hours, and whole days of UTC, up to now. */
export const computeStart = ({ pieces, pieceMs }: Pick<Span, 'pieces' | 'pieceMs'>, now: number): string =>
  new Date(Math.floor(now / pieceMs + 1) * pieceMs - pieces * pieceMs).toISOString();

interface Seen {
  periods: Metrics;
  totals: Metrics;
  domains: Metrics;
}

/** Shows what happened to the mail of a period, in numbers: over time, in total, and by domain. */
export class MetricsScreen implements Screen {
  readonly title = 'metrics';
  readonly isWhole = true;
  readonly #host: Host;
  #span: Span = SPANS[1];
  readonly #seen = new Map<Span, Seen>();
  #signal = AbortSignal.abort();
  #fault = '';
  #scroll = 0;
  #height = 10;
  #length = 0;

  constructor(host: Host) {
    this.#host = host;
  }

  start(signal: AbortSignal): void {
    this.#signal = signal;
    void follow(this.#host, signal, { ...this.#following, everyMs: 10_000 });
  }

  readonly #following = {
    load: (signal: AbortSignal): Promise<void> => this.#load(signal),
    tell: (fault: string): void => {
      if (fault !== this.#fault) this.#host.changed();
      this.#fault = fault;
    },
  };

  async #load(signal: AbortSignal): Promise<void> {
    const span = this.#span;
    const range = { start_date: computeStart(span, Date.now()), granularity: span.granularity };
    const ask = (query: object): Promise<Metrics> =>
      this.#host.client.call('getEmailMetrics', { query: { ...range, ...query } }, signal);
    const periods = await ask({ dimensions: 'period', metrics: 'sent' });
    const totals = await ask({});
    const domains = await ask({
      dimensions: 'domain',
      metrics: 'sent,delivered,bounced,complained,bounce_rate,complaint_rate',
    });
    this.#seen.set(span, { periods, totals, domains });
    this.#host.changed();
  }

  draw({ columns, rows }: Size): string[] {
    const { label, pieces, word } = this.#span;
    const at = SPANS.indexOf(this.#span);
    const head = [
      wholes(
        SPANS.map((one) => (one === this.#span ? inHand(one.label) : faint(` ${one.label} `))),
        at,
        columns,
      ),
      '',
    ];
    const seen = this.#seen.get(this.#span);
    if (!seen) return [...head, faint(this.#fault === '' ? '  Loading …' : '')];
    const { terminal } = this.#host;
    const sent = (seen.periods.data ?? []).map((row) => row.sent ?? 0).slice(-pieces);
    const bars = chart({
      values: sent,
      height: rows >= 28 ? 8 : 4,
      columns: columns - 4,
      paint: (text) => terminal.paint('green', text),
      ends: [`${label} ago`, 'now'],
    });
    const title = `  ${bold('Sent')}  ${faint(word)}`;
    const lines = [title, ...bars.map((line) => `  ${line}`), '', ...this.#tables(seen, columns)];
    this.#height = rows - head.length;
    this.#length = lines.length;
    const { at: top, shown } = linesSeen(lines, { top: this.#scroll, columns, rows: this.#height });
    this.#scroll = top;
    return [...head, ...shown];
  }

  /** Draws the totals and the domains: next to each other if there is space. */
  #tables({ totals, domains }: Seen, columns: number): string[] {
    const all = buildTotals(totals).filter(({ emails }) => emails !== undefined);
    const lines = [
      faint(`  ${fit('METRIC', 22)}${'EMAILS'.padStart(12)}${'RATE'.padStart(10)}`),
      ...all.map(
        ({ metric, emails, rate }) => `  ${fit(metric, 22)}${grouped(emails ?? 0).padStart(12)}${rate.padStart(10)}`,
      ),
    ];
    const others = this.#byDomain(domains);
    const needed = Math.max(...others.map(shownWidth));
    if (columns - 50 >= needed) return joinColumns(lines, others, 48, Math.max(lines.length, others.length));
    return [...lines, '', ...others];
  }

  #byDomain({ data = [] }: Metrics): string[] {
    if (data.length === 0) return [faint('No domain sent anything.')];
    const { terminal } = this.#host;
    const names = data.map((row) => clean(String(row.domain_name ?? row.domain_id ?? '')));
    const width = Math.max(6, ...names.map(shownWidth)) + 2;
    const told = data.map((row, at) => {
      const bounced = rateInWords(terminal, 'bounced', { count: row.bounced, rate: row.bounce_rate });
      const complained = rateInWords(terminal, 'complained', { count: row.complained, rate: row.complaint_rate });
      return `${fit(names[at] ?? '', width)}${grouped(row.sent ?? 0).padStart(10)}  ${fit(bounced, 24)}${complained}`;
    });
    return [faint(`${fit('DOMAIN', width)}${'SENT'.padStart(10)}  ${fit('BOUNCED', 24)}COMPLAINED`), ...told];
  }

  #turn(step: number): void {
    this.#span = SPANS[(SPANS.indexOf(this.#span) + step + SPANS.length) % SPANS.length] ?? SPANS[1];
    this.refresh();
    this.#host.changed();
  }

  key(key: string): boolean {
    const step = { right: 1, l: 1, tab: 1, left: -1, h: -1, 'shift-tab': -1 }[key];
    if (step !== undefined) this.#turn(step);
    const to = step === undefined ? computePosition(key, this.#scroll, this.#height, this.#length) : undefined;
    if (to !== undefined) this.#scroll = to;
    return step !== undefined || to !== undefined;
  }

  note(): string {
    return this.#fault || linesInWords(this.#scroll, this.#height, this.#length);
  }

  refresh = (): void => void tried(this.#host, this.#signal, this.#following);
  keys = (): readonly (readonly [string, string])[] => [
    ['←→', 'other range'],
    ...(this.#length > this.#height ? [['↑↓', 'scroll'] as const] : []),
  ];
  offers = (): readonly Offer[] => [];
  copy = (): string | undefined => undefined;
}
