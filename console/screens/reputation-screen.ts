import type { AnswerOf } from '../../cli/client/index.ts';
import {
  formatBlocklists,
  formatCauses,
  formatTrend,
  grouped,
  nameSource,
  NO_MAIL,
  toneOfReputation,
  type ReputationEntry,
} from '../../cli/families/index.ts';
import { clean, shorten, toStyle } from '../../cli/output/index.ts';
import { chart } from '../draw/chart.ts';
import { computePosition, formatPosition, linesSeen } from '../draw/scroll.ts';
import { bold, faint, fit, inHand, shownWidth, wholes, wrap } from '../draw/text.ts';
import { follow, tried, type Host, type Offer, type Screen, type Size } from './screen.ts';

type Reputation = AnswerOf<'getReputation'>;

const SPANS = [
  { label: 'today', days: 1 },
  { label: '7 days', days: 7 },
  { label: '30 days', days: 30 },
  { label: '90 days', days: 90 },
] as const;
type Span = (typeof SPANS)[number];

const ENTRIES_MAX = 500;
const FOLLOW_MS = 30_000;
/** Each level has a mark, so that the map is readable without color. */
const MARKS: Record<ReputationEntry['level'], string> = { good: '✓', watch: '!', bad: '✗', unknown: '·' };
const LEGEND = '✓ good  ! watch  ✗ bad  · too little mail to judge; in per cent: accepted of all attempts';
/** The keys that move through the details of a cell; all others move through the map. */
const PAGING: ReadonlySet<string> = new Set(['pagedown', 'pageup', 'ctrl-f', 'ctrl-b', 'ctrl-d', 'ctrl-u', ' ']);
const CELL = 14;
const NAME_MAX = 24;

interface Cell {
  entry: ReputationEntry;
  title: string;
}

/** The entries as a map: a row for each source, a column for each provider. */
interface HeatMap {
  sources: readonly string[];
  providers: readonly { id: string | null; title: string }[];
  find: (source: string, provider: string | null) => ReputationEntry | undefined;
}

const NO_PROVIDER = '';
const toKey = (source: string, provider: string | null): string => JSON.stringify([source, provider]);

/** Arranges the entries: sources by name, and providers with most mail first. */
function buildMap({ data, sources: known }: Reputation): HeatMap {
  const cells = new Map(data.map((one) => [toKey(one.source ?? '', one.provider ?? null), one]));
  const names = new Set([...known.flatMap(({ source }) => source ?? []), ...data.map(({ source = '' }) => source)]);
  const providers = new Map<string, { id: string | null; title: string }>();
  for (const { provider = null, provider_title: title = '' } of data)
    providers.set(provider ?? NO_PROVIDER, { id: provider, title: provider === null ? 'Others' : title });
  return {
    sources: [...names].toSorted((a, b) => (a < b ? -1 : 1)),
    providers: [...providers.values()],
    find: (source, provider) => cells.get(toKey(source, provider)),
  };
}

/** Shows how each provider takes the mail of each source as a map of levels; below it, the selected cell in full. */
export class ReputationScreen implements Screen {
  readonly title = 'reputation';
  readonly isWhole = true;
  readonly #host: Host;
  #span: Span = SPANS[1];
  readonly #seen = new Map<Span, Reputation>();
  #signal = AbortSignal.abort();
  #fault = '';
  #row = 0;
  #column = 0;
  #scroll = 0;
  #height = 10;
  #length = 0;

  constructor(host: Host) {
    this.#host = host;
  }

  start(signal: AbortSignal): void {
    this.#signal = signal;
    void follow(this.#host, signal, { ...this.#following, everyMs: FOLLOW_MS });
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
    const query = { days: span.days, limit: ENTRIES_MAX };
    this.#seen.set(span, await this.#host.client.call('getReputation', { query }, signal));
    this.#host.changed();
  }

  draw({ columns, rows }: Size): string[] {
    const head = [
      wholes(
        SPANS.map((one) => (one === this.#span ? inHand(one.label) : faint(` ${one.label} `))),
        SPANS.indexOf(this.#span),
        columns,
      ),
      '',
    ];
    const seen = this.#seen.get(this.#span);
    if (!seen) return [...head, faint(this.#fault === '' ? '  Loading …' : '')];
    const map = buildMap(seen);
    if (map.providers.length === 0) {
      const lines = [`  ${NO_MAIL}`, '', ...this.#blocklists(seen)];
      return [...head, ...lines.flatMap((line) => wrap(line, columns))].slice(0, rows);
    }
    this.#keepWithin(map);
    const more = seen.has_more ? [faint(fit('  Combinations with less mail are left out.', columns))] : [];
    const room = Math.max(3, Math.floor((rows - head.length) / 2));
    const top = [...head, ...this.#drawMap(map, columns, room), ...more, faint(fit(`  ${LEGEND}`, columns)), ''];
    const lines = this.#drawCell(seen, map, columns);
    this.#height = Math.max(1, rows - top.length);
    this.#length = lines.length;
    const { at, shown } = linesSeen(lines, { top: this.#scroll, columns, rows: this.#height });
    this.#scroll = at;
    return [...top, ...shown].slice(0, rows);
  }

  /** Keeps the selection on the map when the map has become smaller. */
  #keepWithin({ sources, providers }: HeatMap): void {
    this.#row = Math.min(this.#row, sources.length - 1);
    this.#column = Math.min(this.#column, providers.length - 1);
  }

  /** Draws the part of the map with the selected cell. */
  #drawMap({ sources, providers, find }: HeatMap, columns: number, rows: number): string[] {
    const names = sources.map((source) => shorten(clean(source), NAME_MAX));
    const width = Math.max(6, ...names.map(shownWidth)) + 4;
    const wide = Math.max(1, Math.floor((columns - width) / CELL));
    const first = Math.min(Math.max(0, this.#column - wide + 1), Math.max(0, providers.length - wide));
    const shown = providers.slice(first, first + wide);
    const titles = shown.map(({ title }) => fit(` ${shorten(clean(title), CELL - 2)}`, CELL)).join('');
    const tall = Math.max(1, rows - 1);
    const top = Math.min(Math.max(0, this.#row - tall + 1), Math.max(0, sources.length - tall));
    const lines = sources.slice(top, top + tall).map((source, at) => {
      const row = top + at;
      const cells = shown.map(({ id }, index) =>
        this.#drawEntry(find(source, id), row === this.#row && first + index === this.#column),
      );
      return `${row === this.#row ? '› ' : '  '}${fit(names[row] ?? '', width - 2)}${cells.join('')}`;
    });
    return [faint(fit(`${fit('  SOURCE', width)}${titles}`, columns)), ...lines];
  }

  /** Draws one cell; brackets mark the selected one. */
  #drawEntry(entry: ReputationEntry | undefined, isSelected: boolean): string {
    const text = entry === undefined ? '–' : `${MARKS[entry.level]} ${formatAccepted(entry)}`;
    const label = isSelected ? `[${text}]` : ` ${text} `;
    const tone = entry === undefined ? 'plain' : toneOfReputation(entry);
    const painted = this.#host.terminal.paint(toStyle(tone), label);
    return fit(isSelected ? bold(painted) : painted, CELL);
  }

  #drawCell(seen: Reputation, map: HeatMap, columns: number): string[] {
    const source = map.sources[this.#row] ?? '';
    const provider = map.providers[this.#column];
    const entry = map.find(source, provider?.id ?? null);
    const title = `  ${bold(clean(`${source} → ${provider?.title ?? ''}`))}`;
    const own = seen.sources.find((one) => one.source === source);
    const state = own ?? seen.sources.find((one) => one.source === null);
    const lists = state === undefined ? [] : [this.#blocklist(state)];
    const lines =
      entry === undefined
        ? [title, '  Nothing was sent by this source to this provider.', ...lists]
        : [...this.#drawFigures({ entry, title }), ...lists, ...this.#drawDays(entry, columns)];
    return lines.flatMap((line) => wrap(line, columns - 2));
  }

  #drawFigures({ entry, title }: Cell): string[] {
    const { accepted, deferred, bounced, complained, rates, level, reason } = entry;
    const { terminal } = this.#host;
    const line = (label: string, count: number, rate: number | null, causes = ''): string => {
      const share = rate === null || count === 0 ? '' : ` (${rate} %)`;
      return `  ${label.padEnd(12)}${grouped(count)}${share}${causes === '' ? '' : `: ${causes}`}`;
    };
    const judged = terminal.paint(toStyle(toneOfReputation(entry)), `${MARKS[level]} ${level}`);
    return [
      `${title}  ${judged}  ${clean(reason)}`,
      line('accepted', accepted, null),
      line('deferred', deferred.total, rates.deferred, clean(formatCauses(deferred))),
      line('bounced', bounced.total, rates.bounced, clean(formatCauses(bounced))),
      line('complained', complained, rates.complained),
      `  ${'trend'.padEnd(12)}${formatTrend(entry)}`,
    ];
  }

  /** Draws what was accepted on each day; a single day needs no bars. */
  #drawDays({ daily }: ReputationEntry, columns: number): string[] {
    if (daily.accepted.length < 2) return [];
    const bars = chart({
      values: daily.accepted,
      height: 4,
      columns: columns - 6,
      paint: (text) => this.#host.terminal.paint('green', text),
      ends: [`${daily.accepted.length} days ago`, 'today'],
    });
    return ['', `  ${bold('Accepted')}  ${faint('one bar per day')}`, ...bars.map((one) => `  ${one}`)];
  }

  #blocklists = ({ sources }: Reputation): string[] => sources.map((one) => this.#blocklist(one));

  #blocklist(one: Reputation['sources'][number]): string {
    const { source, addresses, blocklists } = one;
    const tone = blocklists.state === 'listed' ? 'bad' : 'plain';
    const state = this.#host.terminal.paint(toStyle(tone), clean(formatBlocklists(one)));
    const checked = blocklists.checked_at === null ? '' : faint(` as of ${blocklists.checked_at.slice(0, 10)}`);
    const where = addresses.length === 0 ? '' : ` (${addresses.join(', ')})`;
    return `  ${'blocklists'.padEnd(12)}${clean(nameSource(source))}${where}: ${state}${checked}`;
  }

  key(key: string): boolean {
    if (key === 'tab' || key === 'shift-tab') return this.#turn(key === 'tab' ? 1 : -1);
    const to = PAGING.has(key) ? computePosition(key, this.#scroll, this.#height, this.#length) : undefined;
    if (to !== undefined) {
      this.#scroll = Math.max(0, to);
      return true;
    }
    const seen = this.#seen.get(this.#span);
    if (!seen) return false;
    const { sources, providers } = buildMap(seen);
    const down = { down: 1, j: 1, up: -1, k: -1, g: -sources.length, G: sources.length }[key];
    const right = { right: 1, l: 1, left: -1, h: -1 }[key];
    if (down === undefined && right === undefined) return false;
    this.#row = Math.max(0, Math.min(sources.length - 1, this.#row + (down ?? 0)));
    this.#column = Math.max(0, Math.min(providers.length - 1, this.#column + (right ?? 0)));
    this.#scroll = 0;
    return true;
  }

  #turn(step: number): true {
    this.#span = SPANS[(SPANS.indexOf(this.#span) + step + SPANS.length) % SPANS.length] ?? SPANS[1];
    this.refresh();
    this.#host.changed();
    return true;
  }

  note(): string {
    const seen = this.#seen.get(this.#span);
    if (!seen) return this.#fault;
    const { sources, providers } = buildMap(seen);
    return this.#fault || (providers.length === 0 ? '0' : formatPosition(this.#row, sources.length));
  }

  refresh = (): void => void tried(this.#host, this.#signal, this.#following);
  keys = (): readonly (readonly [string, string])[] => [
    ['←↓↑→', 'other cell'],
    ['tab', 'other range'],
    ...(this.#length > this.#height ? [['pgup pgdn', 'scroll'] as const] : []),
  ];
  offers = (): readonly Offer[] => [];
  copy = (): string | undefined => {
    const seen = this.#seen.get(this.#span);
    return seen === undefined ? undefined : buildMap(seen).sources[this.#row];
  };
}

/** Formats the share of accepted recipients of all attempts. */
function formatAccepted({ accepted, deferred, bounced }: ReputationEntry): string {
  const attempts = accepted + deferred.total + bounced.total;
  if (attempts === 0) return '–';
  const share = (accepted * 100) / attempts;
  // A share is rounded to 100 only if everything was accepted.
  return `${share === 100 ? 100 : Math.min(99, Math.round(share))} %`;
}
