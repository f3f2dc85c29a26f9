import { listOfAdvice, readHistory, type CallOf, type OperationId } from '../../cli/client/index.ts';
import {
  readFieldValue,
  type Detail,
  type Family,
  type Field,
  type List,
  type Parts,
} from '../../cli/families/index.ts';
import {
  itemPairs,
  formatHistory,
  formatQueuedEmail,
  cellText,
  clean,
  shorten,
  formatEmailBody,
  cleanLines,
  type FormatAdvice,
  type Terminal,
} from '../../cli/output/index.ts';
import { nameList } from '../advice.ts';
import { listActions, applicable } from '../catalog.ts';
import { linesInWords, linesSeen, computePosition } from '../draw/scroll.ts';
import { bold, faint, inHand, wholes, wrap } from '../draw/text.ts';
import { follow, tried, type Host, type Offer, type Screen, type ScreenFilter, type Size } from './screen.ts';
import { Preview, type Previewed } from './preview.ts';
import type { Awaited } from '../waiting-keys.ts';
import { SORT_KEYS, TableBody } from './table-body.ts';
import { callAndSee } from '../parked-events.ts';

/** Returns the name by which people know an item. */
export function findTitle(item: object): string {
  const { name, title, subject, email, endpoint, type, key, destination, action, summary, id, ...more } =
    item as Readonly<Record<string, unknown>>;
  // For an app: its own name, or that of the app which was authorized.
  const app = more.client_name ?? (more.client as { name?: unknown } | undefined)?.name;
  const first = [name, title, subject, email, endpoint, type, key, destination, action, summary, app, id].find(
    (text) => typeof text === 'string' && text !== '',
  );
  return String(first ?? '');
}

/** The same, by the end of its id if it has no other name. */
export function findShortTitle(item: { id?: unknown }): string {
  const title = findTitle(item);
  // Some ids are names, such as that of a mail server.
  return title === item.id && /[0-9a-f]{8}$/i.test(title) ? title.slice(-8) : title;
}

const NAMES_NOTHING: readonly Field<never>['kind'][] = ['id', 'state', 'time', 'moment', 'long', 'body'];
const NAME_MAX = 60;

/**
 * Names an item in a question: by the first field that names it in its family's list, and by its time if it happens
 * often.
 */
export function nameItem(terminal: Terminal, { list, get }: Family, item: object): string {
  const fields = list?.columns ?? get?.fields ?? [];
  const formatText = (field: Field<never> | undefined): string =>
    field === undefined ? '' : clean(cellText({ ...terminal, isTty: true }, field, item)).trim();
  const name = fields
    .filter(({ kind }) => !NAMES_NOTHING.includes(kind))
    .map(formatText)
    .find((text) => text !== '');
  const moment = formatText(fields.find(({ kind }) => kind === 'moment'));
  return shorten([name ?? clean(findTitle(item)), moment].filter((text) => text !== '').join(' '), NAME_MAX);
}

const NAMED = 3;

/** Several in a line. */
export function inALine(names: readonly string[]): string {
  const more = names.length - NAMED;
  return more > 0 ? `${names.slice(0, NAMED).join(', ')} and ${more} more` : names.join(', ');
}

/** The label of the tab that people usually want first, by the operation that reads the item. */
const OPENS_ON: Readonly<Record<string, (item: { status?: string } | undefined) => string>> = {
  getReceivedEmail: () => 'text',
  // A disabled endpoint needs attention, which its details explain.
  getWebhook: (item) => (item?.status === 'disabled' ? 'details' : 'events'),
};

/** Items that are first shown as a story. */
const STORIES: readonly string[] = ['getEmail', 'getQueuedEmail'];

type Path = Readonly<Record<string, string>>;

interface Inner {
  family: Family;
  list: List;
  path: Path;
}

interface ItemInput {
  family: Family;
  title: (item: object | undefined) => string;
  path: Path | undefined;
  /** Its row, if it was opened from a list, and the fields of that row. */
  row?: { item: object; fields: readonly Field<never>[] } | undefined;
  fields: readonly Field<never>[];
  get: Detail | undefined;
  /** The label of the tab to show first. */
  side?: string | undefined;
  /** Opens the previous or next item of the list that this one was opened from, on the same tab. */
  walk?: ((step: 1 | -1, from: { side: string; signal: AbortSignal }) => void) | undefined;
  /** Returns its position in that list. */
  place?: (() => string) | undefined;
  /** Finds the row, if the API has no more about the item. */
  find?: (signal: AbortSignal) => Promise<object>;
  /** The initial values for forms of its list, if the item has no actions of its own. */
  given?: ((item: { id: string }) => Path) | undefined;
  lists: readonly Inner[];
  list: (inner: Inner) => Screen;
}

/** One tab of an item: a text to scroll, or a table to move through. */
interface Side {
  label: string;
  lines?: (width: number) => string[];
  screen?: Screen;
}

/** The keys that go to another side. */
const TURNS: Readonly<Record<string, 1 | -1>> = { right: 1, l: 1, tab: 1, left: -1, h: -1, 'shift-tab': -1 };

/** An item with tabs for its story, its fields, its texts, its parts and the lists that belong to it. */
export class ItemScreen implements Previewed {
  readonly #host: Host;
  readonly #input: ItemInput;
  readonly #lists: readonly Side[];
  #item: object | undefined;
  #story: string[] | undefined;
  #parts: PartsScreen | undefined;
  /** The label of the shown tab: others may be added while the item is loaded. */
  #label = '';
  #scroll = 0;
  #height = 10;
  #length = 0;
  #signal = AbortSignal.abort();
  #stopSide = new AbortController();
  #fault = '';
  #isLoaded = false;

  constructor(host: Host, input: ItemInput) {
    this.#host = host;
    this.#input = input;
    this.#item = input.row?.item;
    this.#isLoaded = input.get === undefined && input.row !== undefined;
    this.#lists = input.lists.map((inner) => ({ label: nameList(inner), screen: input.list(inner) }));
    const parts = input.get?.parts;
    this.#label = input.side ?? '';
    if (parts) this.#parts = new PartsScreen(host, parts, () => this.#item);
  }

  get title(): string {
    return this.#input.title(this.#item);
  }

  start(signal: AbortSignal): void {
    this.#signal = signal;
    // A row does not change under its reader.
    const begin = this.#input.get ? follow : tried;
    void begin(this.#host, signal, this.#following);
    this.#startSide();
  }

  readonly #following = {
    load: (signal: AbortSignal): Promise<void> => this.#load(signal),
    tell: (fault: string): void => {
      const isNew = fault !== this.#fault;
      this.#fault = fault;
      if (isNew) this.#host.changed();
    },
  };

  get isApart(): boolean {
    return this.#input.row === undefined;
  }

  get side(): string {
    return this.#label;
  }

  turn(step: 1 | -1): void {
    const sides = this.#sides();
    const at = sides.findIndex(({ label }) => label === this.#side()?.label);
    this.#label = sides[(at + step + sides.length) % sides.length]?.label ?? '';
    this.#startSide();
  }

  scroll(lines: number): void {
    this.#scroll = Math.max(0, this.#scroll + lines);
  }

  renew(row: object): void {
    if (!this.#input.get) this.#item = row;
  }

  beside = (isShown: boolean): Screen | undefined => this.#side()?.screen?.beside?.(isShown);

  #startSide(): void {
    this.#stopSide.abort();
    this.#stopSide = new AbortController();
    this.#scroll = 0;
    this.#side()?.screen?.start(AbortSignal.any([this.#signal, this.#stopSide.signal]));
  }

  async #load(signal: AbortSignal): Promise<void> {
    const { get, find, path = {} } = this.#input;
    const { client, terminal } = this.#host;
    if (!get) {
      if (!this.#isLoaded) this.#item = await find?.(signal);
    } else if (get.operation === 'getEmail') {
      const history = await readHistory(client, path.email_id ?? '', signal);
      this.#item = history.email;
      this.#story = formatHistory({ ...terminal, isTty: true }, history, { withTranscript: true, say: this.#say() });
    } else {
      const item = (await callAndSee(client, get.operation, { path } as CallOf<OperationId>, signal)) as object;
      this.#item = item;
      if (get.operation === 'getQueuedEmail')
        this.#story = formatQueuedEmail({ ...terminal, isTty: true }, item as never, true);
    }
    this.#isLoaded = true;
    this.#host.changed();
  }

  refresh(): void {
    void tried(this.#host, this.#signal, this.#following);
    this.#side()?.screen?.refresh();
  }

  #side(): Side | undefined {
    const sides = this.#sides();
    const first = OPENS_ON[this.#input.get?.operation ?? '']?.(this.#item as { status?: string } | undefined);
    const wanted = this.#label === '' ? first : this.#label;
    return sides.find(({ label }) => label === wanted) ?? sides[0];
  }

  /** A row of a list lacks the fields that only the detail has. */
  get #fields(): readonly Field<never>[] {
    const { fields, row } = this.#input;
    return this.#isLoaded || !row ? fields : row.fields;
  }

  #sides(): Side[] {
    const fields = this.#fields;
    const details = (width: number): string[] => this.#details(width);
    const story: Side[] = this.#story ? [{ label: 'timeline', lines: (width) => this.#told(width) }] : [];
    const parts = this.#input.get?.parts?.label.toLowerCase();
    const bodies = fields.filter(
      (field) => field.name !== parts && this.#isBody(field) && this.#formatBody(field) !== '',
    );
    return [
      ...(!this.#story && STORIES.includes(this.#input.get?.operation ?? '')
        ? [{ label: 'timeline', lines: details }]
        : story),
      { label: 'details', lines: details },
      ...(this.#parts ? [{ label: parts ?? '', screen: this.#parts }] : []),
      ...bodies.map((field) => ({
        label: field.label.toLowerCase(),
        lines: (width: number) => wrap(this.#formatBody(field, width), width),
      })),
      ...this.#lists,
    ];
  }

  #told = (width: number): string[] =>
    (this.#story ?? []).flatMap((text) => [...wrap(text.replace(/\n$/, ''), width), '']);

  /** True also for values that happen to have several lines, such as the response of an endpoint. */
  #isBody(field: Field<never>): boolean {
    if (field.kind === 'body') return true;
    const value = this.#item && readFieldValue(field, this.#item);
    return typeof value === 'string' && value.trim().includes('\n');
  }

  #formatBody = (field: Field<never>, columns?: number): string => textOfBody(this.#item, field, columns);

  /** The values of its row are shown before the other ones are loaded. */
  #details(width: number): string[] {
    if (!this.#item) return [];
    const rest = this.#isLoaded ? [] : ['', this.#fault === '' ? faint('Loading …') : this.#fault];
    return [...this.#known(this.#item, width), ...rest.flatMap((line) => wrap(line, width))];
  }

  #known(item: object, width: number): string[] {
    const isAsked = this.#input.get !== undefined;
    const plain = this.#fields.filter(({ kind, shown }) => kind !== 'body' && !(isAsked && shown === 'asked'));
    const terminal = { ...this.#host.terminal, isTty: true, columns: width };
    return itemPairs(terminal, plain, item).flatMap(({ label, text }) => {
      // Further lines of a value are aligned below it.
      const indent = label.length + 2;
      return wrap(text, width - indent).map((line, at) => (at === 0 ? `${faint(label)}  ` : ' '.repeat(indent)) + line);
    });
  }

  note(): string {
    // A fault while loading is shown in place of the content.
    if (this.#fault !== '') return this.#isLoaded || this.#side()?.screen ? this.#fault : '';
    const inner = this.#side()?.screen?.note();
    if (inner !== undefined && inner !== '') return inner;
    if (!this.#isLoaded) return 'loading …';
    const lines = linesInWords(this.#scroll, this.#height, this.#length);
    return [this.#input.place?.() ?? '', lines].filter((text) => text !== '').join(' · ');
  }

  draw({ columns, rows, isAside = false, hasBeside = false }: Size): string[] {
    const side = this.#side();
    const sides = this.#sides();
    const chosen = isAside ? (label: string) => bold(`[${label}]`) : inHand;
    const bar = sides.map(({ label }) => (label === side?.label ? chosen(label) : faint(` ${label} `)));
    const at = sides.findIndex(({ label }) => label === side?.label);
    // While an item is loading, tabs for texts may be added.
    const isAlone = sides.length === 1 && (this.#isLoaded || !this.#fields.some(({ kind }) => kind === 'body'));
    const tabs = isAlone ? [] : [wholes(bar, Math.max(0, at), columns)];
    const head = [...tabs, ...this.#next(columns), ''];
    this.#height = rows - head.length;
    const size = { columns, rows: this.#height, isAside, hasBeside };
    if (side?.screen) return [...head, ...side.screen.draw(size)];
    const lines = (side?.lines?.(columns - 3) ?? []).map((line) => ` ${line}`);
    this.#length = lines.length;
    const { at: top, shown } = linesSeen(lines, { top: this.#scroll, ...size });
    this.#scroll = top;
    return [...head, ...(lines.length === 0 ? this.#none(columns) : shown)];
  }

  /** Lists the next steps for the item in its current state. */
  #next(columns: number): string[] {
    const { get } = this.#input;
    const advices = this.#isLoaded && this.#item ? listOfAdvice(get?.hint?.(this.#item as never)) : [];
    // On a tab that is a list, keys are for its rows.
    const isHere = this.#side()?.screen === undefined || this.#side()?.screen === this.#parts;
    const said = isHere ? advices.map(this.#say()).filter((one) => one !== undefined) : [];
    return said.flatMap((one) => wrap(` ${one}`, columns - 1));
  }

  #say(): FormatAdvice {
    const { get, path = {} } = this.#input;
    return this.#host.speaker(get && { operation: get.operation, keys: Object.keys(path) });
  }

  #none(columns: number): string[] {
    if (this.#isLoaded) return [faint(' Nothing here.')];
    return this.#fault === '' ? [faint(' Loading …')] : wrap(`  ${this.#fault}`, columns - 2);
  }

  /** The tabs are known once the item is loaded. */
  awaits(key: string): Awaited {
    if (this.#input.walk && (key === ']' || key === '[')) return undefined;
    if (!this.#isLoaded) return this.#fault === '' ? 'on its way' : 'not to be had';
    return TURNS[key] === undefined ? this.#side()?.screen?.awaits?.(key) : undefined;
  }

  key(key: string): boolean {
    const step = TURNS[key];
    if (step !== undefined) {
      this.turn(step);
      return true;
    }
    const { walk } = this.#input;
    if (walk && (key === ']' || key === '[')) {
      walk(key === ']' ? 1 : -1, { side: this.#label, signal: this.#signal });
      return true;
    }
    const inner = this.#side()?.screen;
    if (inner) return inner.key(key);
    const to = computePosition(key, this.#scroll, this.#height, this.#length);
    if (to === undefined) return false;
    this.#scroll = to;
    return true;
  }

  keys(): readonly (readonly [string, string])[] {
    const inner = this.#side()?.screen?.keys() ?? [];
    const walked = [['] [', 'next and previous item of the list']] as const;
    const sides = this.#sides().length > 1 ? ([['←→', 'other tabs']] as const) : [];
    return [...sides, ...(this.#input.walk ? walked : []), ...inner];
  }

  offers(): readonly Offer[] {
    const inner =
      this.#side()
        ?.screen?.offers()
        .filter(({ actions }) => actions.length > 0) ?? [];
    if (inner.length > 0) return inner;
    const { path, family, given } = this.#input;
    if (path === undefined) return [];
    if (given) {
      const begin = this.#item ? given(this.#item as { id: string }) : {};
      return [{ actions: listActions(family, [], false), paths: [{}], given: begin }];
    }
    const keys = Object.keys(path);
    const names = this.#item && keys.length > 0 ? [nameItem(this.#host.terminal, family, this.#item)] : [];
    const items = this.#item ? [this.#item] : [];
    return [{ ...applicable(listActions(family, keys, true), items), paths: [path], names, items }];
  }

  get filter(): ScreenFilter | undefined {
    return this.#side()?.screen?.filter;
  }

  get marked(): number {
    return this.#side()?.screen?.marked ?? 0;
  }

  unmark = (): boolean => this.#side()?.screen?.unmark?.() ?? false;

  copy(): string | undefined {
    const inner = this.#side()?.screen;
    if (inner) return inner.copy();
    return (this.#item as { id?: string } | undefined)?.id;
  }
}

/** The parts of an item, as a table; `y` copies the value of one. */
class PartsScreen implements Screen {
  readonly title = '';
  readonly #host: Host;
  readonly #parts: Parts;
  readonly #item: () => object | undefined;
  readonly #body: TableBody<object>;
  readonly #preview: Preview<object>;
  #signal = AbortSignal.abort();

  constructor(host: Host, parts: Parts, item: () => object | undefined) {
    this.#host = host;
    this.#parts = parts;
    this.#item = item;
    const toId = (row: object): string => String(this.#rows().indexOf(row));
    this.#body = new TableBody(parts.columns, toId);
    this.#preview = new Preview(toId, (row) => rowScreen(host, parts.columns, row));
  }

  beside = (isShown: boolean): Screen | undefined =>
    this.#preview.show(isShown ? this.#body.row(this.#shown()) : undefined, this.#signal);

  #rows(): readonly object[] {
    const item = this.#item();
    // Until the item itself is loaded, its row of the list is used, which may hold no parts.
    return (item && (this.#parts.of(item as never) as readonly object[] | undefined)) ?? [];
  }

  #shown = (): readonly object[] => this.#body.ordered(this.#rows());

  start = (signal: AbortSignal): void => void (this.#signal = signal);
  refresh = (): void => undefined;
  note = (): string => this.#body.place(this.#shown());
  offers = (): readonly Offer[] => [];
  keys = (): readonly (readonly [string, string])[] => [['y', 'copy the value'], ...SORT_KEYS, ...this.#preview.keys];
  draw = (size: Size): string[] => this.#body.draw(this.#host.terminal, this.#shown(), size);
  key = (key: string): boolean => this.#preview.key(key) || this.#body.key(key, this.#shown());

  copy(): string | undefined {
    const part = this.#body.row(this.#shown());
    return part && this.#parts.copy(part as never);
  }
}

/** A row that the API has no more of, in full. */
export function rowScreen(host: Host, fields: readonly Field<never>[], row: object): ItemScreen {
  const none = (): never => {
    throw new Error('a single row has no list');
  };
  const shown = fields.map((field) => ({ ...field, shown: undefined }));
  const input = { family: NO_FAMILY, title: () => '', path: undefined, get: undefined, lists: [], list: none };
  return new ItemScreen(host, { ...input, row: { item: row, fields: shown }, fields: shown });
}

const NO_FAMILY: Family = { command: '', summary: '', noun: '' };

/** Returns a field of an item as a text of many lines; empty if it has no value or is not loaded. */
function textOfBody(item: object | undefined, field: Field<never>, columns?: number): string {
  const email = item as { text?: string | null; html?: string | null } | undefined;
  const value = item && readFieldValue(field, item, columns);
  // HTML mail without a text is converted to text.
  if (field.name === 'text' && !value && email?.html) return formatEmailBody({ text: null, html: email.html });
  if (value === null || value === undefined) return '';
  return cleanLines(typeof value === 'string' ? value : JSON.stringify(value, null, 2));
}
