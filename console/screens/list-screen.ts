import { ApiFault, type CallOf, type OperationId, type Client, type AnswerOf } from '../../cli/client/index.ts';
import {
  inboxDrafts,
  readWords,
  readFieldValue,
  type Action,
  type Family,
  type List,
  type Field,
} from '../../cli/families/index.ts';
import { clean, CliFault } from '../../cli/output/index.ts';
import { listActions, applicable, detailOfRow, itemKeys, findLists, pathOfRow } from '../catalog.ts';
import { placeInList, placeInLoaded } from '../draw/scroll.ts';
import { faint } from '../draw/text.ts';
import { Pager, type Page } from '../pager.ts';
import { callAndSee } from '../parked-events.ts';
import { readFilter, writeFilter, type ReadFilter } from '../read-filter.ts';
import { InboxScreen } from './inbox-screen.ts';
import { ItemScreen, nameItem, findShortTitle, findTitle } from './item-screen.ts';
import { follow, tried, type Host, type Offer, type Screen, type ScreenFilter, type Size } from './screen.ts';
import { Preview } from './preview.ts';
import type { Awaited } from '../waiting-keys.ts';
import { SORT_KEYS, TableBody } from './table-body.ts';

/** The rows of one page of a list: the largest page of the API. */
const PAGE = 100;
/** Limits how far a list is read to find one row, if the server cannot search for the end of an id. */
const PAGES_SEARCHED = 20;

interface SoughtRow {
  id: string;
}

interface Sought {
  id: string;
  path: Readonly<Record<string, string>>;
  narrowed: Readonly<Record<string, string>>;
  signal: AbortSignal;
}

/**
 * Returns the row that has this id, or an id with this ending: for a list of what waits also by the id of its email.
 */
async function findRow(client: Client, list: List, { id, path, narrowed, signal }: Sought): Promise<SoughtRow> {
  const ids = list.columns.filter(({ kind }) => kind === 'id');
  const isMeant = (value: unknown): boolean => typeof value === 'string' && value.endsWith(id);
  const ask = async (query: object): Promise<SoughtRow[]> => {
    const call = { path, query: { limit: PAGE, ...query } } as CallOf<OperationId>;
    return ((await client.call(list.operation, call, signal)) as unknown as Page<SoughtRow>).data;
  };
  const among = (rows: readonly SoughtRow[]): SoughtRow | undefined =>
    rows.find((row) => isMeant(row.id) || ids.some((field) => isMeant(readFieldValue(field, row))));
  const none = (): CliFault => new CliFault(`No item has the id ${id}.`, 'notFound');
  if ('id_end' in list.filters && /^[0-9a-f]{4,32}$/.test(id)) {
    const found = among(await ask({ id_end: id }));
    if (found) return found;
    throw none();
  }
  let after: string | undefined;
  for (let page = 0; page < PAGES_SEARCHED; page++) {
    const rows = await ask({ ...narrowed, after });
    const found = among(rows);
    if (found) return found;
    after = rows.at(-1)?.id;
    if (rows.length < PAGE || after === undefined) throw none();
  }
  throw new CliFault(`The first ${PAGES_SEARCHED * PAGE} items do not include the id ${id}.`, 'notFound');
}

type Segment = AnswerOf<'listSegments'>['data'][number];

/** Counting goes through all contacts: once in a while is enough. */
const FRESH_MS = 60_000;

/** Columns of a list whose values are not read with it each time, but once in a while. */
interface MoreColumns {
  /** The columns of the list, with these among them. */
  fields: readonly Field<never>[];
  ask: (rows: readonly { id: string }[], signal: AbortSignal) => Promise<void>;
}

const createMoreColumns = (list: List, client: Client, changed: () => void): MoreColumns | undefined =>
  list.operation === 'listSegments' ? new SegmentCounts(list.columns, client, changed) : undefined;

/** Counts the contacts of each segment in the list: one request per page. */
class SegmentCounts implements MoreColumns {
  readonly fields: readonly Field<never>[];
  readonly #client: Client;
  readonly #changed: () => void;
  readonly #known = new Map<string, { segment: Segment; at: number }>();
  #isAsking = false;

  constructor(columns: readonly Field<never>[], client: Client, changed: () => void) {
    this.#client = client;
    this.#changed = changed;
    this.fields = columns.map((field) => {
      if (!String(field.name).startsWith('counts.')) return field;
      return { ...field, value: ({ id }: Segment) => this.#readCount(field, id) } as Field<never>;
    });
  }

  #readCount(field: Field<never>, id: string): unknown {
    const known = this.#known.get(id);
    return known && readFieldValue(field, known.segment);
  }

  #isFresh(id: string): boolean {
    const known = this.#known.get(id);
    return known !== undefined && Date.now() - known.at < FRESH_MS;
  }

  async ask(rows: readonly { id: string }[], signal: AbortSignal): Promise<void> {
    if (this.#isAsking || rows.every(({ id }) => this.#isFresh(id))) return;
    this.#isAsking = true;
    try {
      for (let after: string | undefined; ;) {
        const query = { include: 'counts', limit: PAGE, after } as const;
        const { data, has_more: hasMore } = await this.#client.call('listSegments', { query }, signal);
        const at = Date.now();
        for (const segment of data) this.#known.set(segment.id, { segment, at });
        this.#changed();
        after = data.at(-1)?.id;
        if (!hasMore || after === undefined || rows.every(({ id }) => this.#isFresh(id))) return;
      }
    } catch {
      // The list says itself what is wrong with the server.
    } finally {
      this.#isAsking = false;
    }
  }
}

type Row = { id: string };
type Path = Readonly<Record<string, string>>;

const DOWN: ReadonlySet<string> = new Set(['down', 'j', 'pagedown', 'ctrl-f', 'ctrl-d']);

/** Upper bound for the pages that are read to find a row that matches the filter. */
const PAGES_READ_ON = 20;

interface ListInput {
  family: Family;
  list: List;
  path: Path;
  title: string;
  /** Parameters that restrict the list, in addition to the filter. */
  narrowed?: Path;
}

/** A list of the API, as its family declares it: followed while its beginning is seen, paged as one walks. */
export class ListScreen implements Screen {
  readonly title: string;
  readonly #host: Host;
  readonly #family: Family;
  readonly #list: List;
  readonly #path: Path;
  #pager: Pager<Row>;
  readonly #preview: Preview<Row>;
  readonly #more: MoreColumns | undefined;
  readonly #body: TableBody<Row>;
  readonly #narrowed: Path;
  #filter: ReadFilter;
  /** The previous filter and its rows, until the API has accepted the filter in use. */
  #former: { filter: ReadFilter; pager: Pager<Row>; typed: string } | undefined;
  #signal = AbortSignal.abort();
  #fault = '';
  /** The number of jumps in progress: to the end of the list, or to a row that is not loaded yet. */
  #leaps = 0;

  constructor(host: Host, { family, list, path, title, narrowed = {} }: ListInput) {
    this.#host = host;
    this.#family = family;
    this.#list = list;
    this.#path = path;
    this.#narrowed = narrowed;
    this.title = title;
    this.#filter = readFilter(list.filters, '', Date.now());
    this.#more = createMoreColumns(list, host.client, host.changed);
    this.#body = new TableBody(this.#more?.fields ?? list.columns, (row) => row.id);
    this.#preview = new Preview(
      (row) => row.id,
      (row, side) => this.#itemAt(row.id, row, side === '' ? undefined : side),
    );
    this.#pager = this.#newPager();
  }

  #newPager(): Pager<Row> {
    const { operation, isForward = false } = this.#list;
    return new Pager<Row>(async (paging, signal) => {
      const call = { path: this.#path, query: { ...this.#narrowed, ...this.#filter.query, ...paging } };
      return (await callAndSee(this.#host.client, operation, call as CallOf<OperationId>, signal)) as Page<Row>;
    }, isForward);
  }

  start(signal: AbortSignal): void {
    this.#signal = signal;
    const load = (stop: AbortSignal): Promise<void> => this.#unlessRefused(stop, (until) => this.#follow(until));
    void follow(this.#host, signal, { load, tell: (fault) => this.#setFault(fault) });
  }

  /** New rows come at the beginning of a list; a list scrolled further down is not refreshed. */
  async #follow(signal: AbortSignal): Promise<void> {
    const isAway = this.#pager.hasBefore || this.#body.at(this.#rows()) >= 40;
    const isQuiet = this.#pager.isLoaded && this.#fault === '';
    if (isQuiet && (isAway || this.#pager.isLoading)) return;
    await this.#pager.refresh(signal, this.#at());
    this.#host.changed();
    void this.#more?.ask(this.#rows(), signal);
  }

  #setFault(fault: string): void {
    const isNew = fault !== this.#fault;
    this.#fault = fault;
    if (isNew) this.#host.changed();
  }

  #load(work: (signal: AbortSignal) => Promise<void>): Promise<void> {
    this.#host.changed();
    const tell = (fault: string): void => this.#setFault(fault);
    const load = (stop: AbortSignal): Promise<void> => this.#unlessRefused(stop, work);
    return tried(this.#host, this.#signal, { load, tell }).then(() => this.#host.changed());
  }

  /** Makes keys wait until a jump is done. */
  async #leap(work: Promise<void>): Promise<void> {
    this.#leaps++;
    await work;
    this.#leaps--;
    this.#host.changed();
  }

  awaits(key: string): Awaited {
    if (key === 'left' || key === 'h') return undefined;
    if (this.#fault !== '') return 'not to be had';
    const rows = this.#rows();
    const isBehind = DOWN.has(key) && this.#body.at(rows) >= rows.length - 1 && this.#pager.hasBehind;
    return this.#leaps > 0 || !this.#pager.isLoaded || (isBehind && this.#pager.isLoading) ? 'on its way' : undefined;
  }

  /** After the API has refused a filter, the user can correct it, and the previous rows are shown. */
  async #unlessRefused(signal: AbortSignal, work: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const former = this.#former;
    try {
      await work(signal);
      if (this.#pager.isLoaded) this.#former = undefined;
    } catch (error) {
      const isRefused = error instanceof ApiFault && [400, 422].includes(error.status);
      if (signal.aborted || !isRefused || former === undefined) throw error;
      // If two requests used the same filter, the second is refused like the first.
      if (this.#former !== former) return;
      this.#former = undefined;
      this.#filter = former.filter;
      this.#pager = former.pager;
      this.#host.typeAgain(former.typed, error);
      await this.#pager.refresh(signal);
    }
  }

  refresh(): void {
    const at = this.#at();
    void this.#load((signal) => this.#pager.refresh(signal, at));
  }

  /** Returns the index of the selected row among all that are loaded. */
  #at(): number {
    const row = this.#body.row(this.#rows());
    return row === undefined ? 0 : this.#pager.rows.indexOf(row);
  }

  /** The API cannot search this list: a text is searched for in the loaded rows. */
  #isOfLoaded(): boolean {
    return this.#filter.text !== '' && !('search' in this.#filter.query);
  }

  #rows(): readonly Row[] {
    if (!this.#isOfLoaded()) return this.#body.ordered(this.#pager.rows);
    const wanted = this.#filter.text.toLowerCase();
    const found = this.#pager.rows.filter((row) =>
      this.#list.columns.some((field) => readWords(field, row).toLowerCase().includes(wanted)),
    );
    return this.#body.ordered(found);
  }

  get filter(): ScreenFilter {
    const { filters } = this.#list;
    const names = Object.entries(filters).map(([field, { flag = field.replaceAll('_', '-'), choices = [] }]) => [
      flag,
      choices,
    ]);
    const since: Record<string, readonly string[]> = 'start_date' in filters ? { since: ['30m', '2h', '7d'] } : {};
    return {
      names: { ...(Object.fromEntries(names) as Record<string, readonly string[]>), ...since },
      text: writeFilter(filters, this.#filter),
      apply: (text) => this.#apply(readFilter(filters, text, Date.now()), text),
    };
  }

  #apply(filter: ReadFilter, typed: string): void {
    const isSame = JSON.stringify(filter.query) === JSON.stringify(this.#filter.query);
    if (!isSame) this.#former = { ...(this.#former ?? { filter: this.#filter, pager: this.#pager }), typed };
    this.#filter = filter;
    this.#body.marked.clear();
    this.#body.select([], 0);
    if (isSame) return this.#host.changed();
    this.#pager = this.#newPager();
    this.refresh();
  }

  note(): string {
    if (this.#fault !== '') return this.#fault;
    const filter = writeFilter(this.#list.filters, this.#filter);
    const marked = this.marked > 0 ? `${this.marked} marked · ` : '';
    const what = filter === '' ? '' : `/${filter} · `;
    if (!this.#pager.isLoaded) return `${what}${'search' in this.#filter.query ? 'searching' : 'loading'} …`;
    return `${marked}${this.#body.orderInWords}${what}${this.#place()}`;
  }

  #place = (): string => {
    const shown = this.#rows();
    const at = this.#body.at(shown);
    const isOfLoaded = this.#isOfLoaded() || this.#body.order !== undefined;
    return isOfLoaded ? placeInLoaded(this.#pager, at, shown.length) : placeInList(this.#pager, at);
  };

  draw(size: Size): string[] {
    const rows = this.#rows();
    if (rows.length > 0) return this.#body.draw(this.#host.terminal, rows, size);
    const { isLoaded, isLoading, hasBehind, hasBefore } = this.#pager;
    const search = 'search' in this.#filter.query ? '  Searching …' : '  Loading …';
    if (!isLoaded) return ['', faint(this.#fault === '' ? search : '  Nothing was loaded yet.')];
    if (this.#isOfLoaded() && (hasBehind || hasBefore)) {
      const loaded = `Nothing matches in the ${this.#pager.rows.length} that are loaded`;
      if (isLoading) return ['', faint('  Searching further …')];
      return ['', `  ${loaded}; ${hasBehind ? '↓ searches further' : 'g starts again'}.`];
    }
    const isNarrowed = writeFilter(this.#list.filters, this.#filter) !== '';
    return ['', `  ${isNarrowed ? 'Nothing matches; esc shows everything again.' : clean(this.#list.empty)}`];
  }

  key(key: string): boolean {
    const rows = this.#rows();
    const before = this.#body.at(rows);
    if (['enter', 'right', 'l'].includes(key)) return this.#open();
    if (key === ' ' || key === '*') {
      if (key === ' ') this.#body.mark(rows);
      else this.#body.markAll(rows);
      return true;
    }
    if (this.#preview.key(key)) return true;
    const isSorted = this.#body.order !== undefined;
    if (!isSorted && ['g', 'home'].includes(key) && this.#pager.hasBefore) {
      this.#body.select([], 0);
      void this.#leap(this.#load((signal) => this.#pager.first(signal)));
      return true;
    }
    if (!isSorted && ['G', 'end'].includes(key) && this.#pager.hasBehind) {
      void this.#leap(this.#load((signal) => this.#toEnd(signal)));
      return true;
    }
    if (!this.#body.key(key, rows)) return false;
    if (this.#body.order) {
      if (key === '>' || key === '<') void this.#leap(this.#load((signal) => this.#pager.fill(signal)));
      return true;
    }
    const at = this.#body.at(rows);
    if (at >= rows.length - 10 && this.#pager.hasBehind) void this.#load((signal) => this.#pager.behind(signal));
    else if (at < 10 && at <= before && this.#pager.hasBefore) void this.#load((signal) => this.#pager.before(signal));
    return true;
  }

  async #toEnd(signal: AbortSignal): Promise<void> {
    await this.#pager.last(signal);
    const rows = this.#rows();
    this.#body.select(rows, rows.length - 1);
    if (this.#pager.hasBehind)
      this.#host.say('There is more: this list is loaded page by page. Press G or ↓ to load the next page.');
  }

  beside = (isShown: boolean): Screen | undefined =>
    this.#preview.show(isShown ? this.#body.row(this.#rows()) : undefined, this.#signal);

  #open(): boolean {
    const row = this.#body.row(this.#rows());
    if (row !== undefined) this.openItem(row);
    return true;
  }

  openItem(row: Row): void {
    this.#body.hold(row);
    if (this.#list.operation === 'listInboxes') return this.#host.open(this.#inboxAt(row));
    this.#host.open(this.#preview.take(row.id) ?? this.#itemAt(row.id, row));
  }

  #inboxAt(row: Row): Screen {
    const input = { family: inboxDrafts, list: inboxDrafts.list, path: { inbox: row.id }, title: 'drafts' };
    const drafts = (): Screen => new ListScreen(this.#host, input);
    return new InboxScreen(this.#host, { inbox: row.id, title: clean(findTitle(row)), drafts });
  }

  /** Opens an item that is not loaded yet, by the end of its id as tables show it. */
  openByEnd(end: string): void {
    const load = async (signal: AbortSignal): Promise<void> => this.openById((await this.#find(end, signal)).id);
    void this.#leap(tried(this.#host, this.#signal, { load, tell: (fault) => this.#host.say(fault) }));
  }

  /** Opens an item that is not loaded yet. */
  openById(id: string): void {
    this.#host.open(this.#itemAt(id, undefined));
  }

  /** The list is not visible meanwhile: further rows are loaded under the signal of the item. */
  async #walk(step: 1 | -1, { side, signal }: { side: string; signal: AbortSignal }): Promise<void> {
    const pager = this.#pager;
    const next = (): Row | undefined => this.#rows()[this.#body.at(this.#rows()) + step];
    const hasMore = (): boolean => (step === 1 ? pager.hasBehind : pager.hasBefore);
    const load = (stop: AbortSignal): Promise<void> => pager[step === 1 ? 'behind' : 'before'](stop);
    // A filter may leave nothing of a page.
    for (let pages = 0; next() === undefined && hasMore() && pages < PAGES_READ_ON; pages++) {
      let fault = '';
      await tried(this.#host, signal, { load, tell: (text) => void (fault = text) });
      if (signal.aborted) return;
      if (fault !== '') return this.#host.say(fault);
    }
    const row = next();
    if (row === undefined) {
      const where = step === 1 ? 'last' : 'first';
      return this.#host.say(
        hasMore()
          ? 'There is no match on the next pages; Esc returns to the list.'
          : `This is the ${where} of the list.`,
      );
    }
    const rows = this.#rows();
    this.#body.select(rows, this.#body.at(rows) + step);
    this.#host.openInstead(this.#itemAt(row.id, row, side));
  }

  /** Opens an item that was created here, if it is more than its row; its content is shown first. */
  openMade({ operation }: Action, { id }: { id: string }): void {
    const isMine = this.#family.actions?.some((action) => action.operation === operation);
    const path = pathOfRow(this.#family, this.#path, id);
    const get = path && detailOfRow(this.#family, path);
    if (isMine && get) this.#host.open(this.#itemAt(id, undefined, get.parts?.label.toLowerCase()));
  }

  #itemAt(id: string, row: Row | undefined, side?: string): ItemScreen {
    const path = pathOfRow(this.#family, this.#path, id);
    const { columns } = this.#list;
    const get = path && detailOfRow(this.#family, path);
    return new ItemScreen(this.#host, {
      family: this.#family,
      title: (item) => clean(row || item ? findShortTitle(row ?? item ?? {}) : id),
      path,
      row: row && { item: row, fields: columns },
      given: this.#list.given && ((item) => this.#list.given?.((row ?? { email_id: item.id }) as never) ?? {}),
      fields: get?.fields ?? columns,
      get,
      side,
      place: row && this.#place,
      walk: row && ((step, from) => void this.#walk(step, from)),
      find: (signal) => this.#find(id, signal),
      lists: path === undefined ? [] : findLists(Object.keys(path)).map((inner) => ({ ...inner, path })),
      list: (inner) => new ListScreen(this.#host, { ...inner, title: '' }),
    });
  }

  /** Finds a row by whichever of its ids somebody copied. */
  #find(id: string, signal: AbortSignal): Promise<Row> {
    const path = this.#path;
    return findRow(this.#host.client, this.#list, { id, path, narrowed: this.#narrowed, signal });
  }

  unmark = (): boolean => this.#body.unmark();

  get marked(): number {
    return this.#body.marked.size;
  }

  keys(): readonly (readonly [string, string])[] {
    return [
      ['enter', 'open'],
      ['space', 'mark, to act on several items'],
      ['*', 'mark all loaded items; esc unmarks'],
      ...SORT_KEYS,
      ...this.#preview.keys,
    ];
  }

  offers(): readonly Offer[] {
    const keys = itemKeys(this.#family);
    const inHand = this.#body.row(this.#rows());
    const rows = this.#body.marked.size > 0 ? [...this.#body.marked.values()] : inHand === undefined ? [] : [inHand];
    const placed = rows.flatMap((row) => {
      const path = pathOfRow(this.#family, this.#path, row.id);
      return path === undefined ? [] : [{ row, path }];
    });
    const paths = placed.map(({ path }) => path);
    const items = placed.map(({ row }) => row);
    const names = rows.map((row) => nameItem(this.#host.terminal, this.#family, row));
    const actions = listActions(this.#family, keys, false);
    const isOnItem = ({ action }: { action: { path: object } }): boolean =>
      keys.length > 0 && keys.every((key) => key in action.path);
    return [
      {
        actions: actions.filter((one) => !isOnItem(one)),
        paths: [this.#path],
        ...(inHand !== undefined && this.#list.given ? { given: this.#list.given(inHand as never) } : {}),
      },
      ...(paths.length > 0 ? [{ ...applicable(actions.filter(isOnItem), rows), paths, names, items }] : []),
    ];
  }

  copy(): string | undefined {
    return this.#body.row(this.#rows())?.id;
  }
}
