export interface Page<Row> {
  /** Some lists omit it: a page that is not full is their last one. */
  has_more?: boolean | undefined;
  data: Row[];
}

export interface PageQuery {
  limit: number;
  after?: string;
  before?: string;
}

export type AskPage<Row> = (query: PageQuery, signal: AbortSignal) => Promise<Page<Row>>;

export const PAGE = 50;
/** The number of rows in memory, however long a list is. */
export const WINDOW = 200;

/**
 * A window on a list that may have millions of rows: pages are added in the direction of movement and dropped at the
 * other end. Only the ids at its ends are needed to go on in either direction.
 */
export class Pager<Row extends { id: string }> {
  rows: Row[] = [];
  /** True if there are rows before the first or after the last. */
  hasBefore = false;
  hasBehind = false;
  /** The number of rows before the first; undefined after a jump to the end, where they were not counted. */
  skipped: number | undefined = 0;
  isLoaded = false;
  isLoading = false;
  readonly #ask: AskPage<Row>;
  readonly #isForward: boolean;
  /** Counts the requests: the results of all but the latest one are dropped. */
  #asked = 0;

  constructor(ask: AskPage<Row>, isForward: boolean) {
    this.#ask = ask;
    this.#isForward = isForward;
  }

  /** Reloads the rows around this one; loaded rows before and after them stay if nothing is missing in between. */
  async refresh(signal: AbortSignal, at = 0): Promise<void> {
    const first = at < PAGE && !this.hasBefore ? undefined : this.rows[Math.max(0, at - PAGE)];
    const query = first === undefined ? { limit: PAGE } : { limit: 2 * PAGE, after: first.id };
    const page = await this.#page(query, signal);
    if (!page) return;
    const { data, hasMore } = page;
    const reloaded = new Set(data.map(({ id }) => id));
    // A row that moved, such as a thread with a new email, must not appear at its earlier place as well.
    const known = this.rows.filter(({ id }) => !reloaded.has(id));
    const before = first === undefined ? [] : known.slice(0, known.indexOf(first) + 1);
    const last = data.at(-1);
    const end = last ? this.rows.findIndex(({ id }) => id === last.id) : -1;
    // Rows after the last one of the list are gone.
    const kept = end === -1 || !hasMore ? [] : this.rows.slice(end + 1).filter(({ id }) => !reloaded.has(id));
    this.rows = [...before, ...data, ...kept];
    if (kept.length === 0) this.hasBehind = hasMore;
    if (first === undefined) this.#isFirst();
    this.isLoaded = true;
    this.#trim('behind');
  }

  /** Reloads from the beginning, whatever the position. */
  async first(signal: AbortSignal): Promise<void> {
    this.hasBefore = false;
    await this.refresh(signal);
  }

  /** Loads only the last page. If the API cannot page backwards from the end, loads one page more. */
  async last(signal: AbortSignal): Promise<void> {
    const id = this.rows.at(-1)?.id;
    const before = id === undefined ? undefined : smallestLike(id);
    if (before === undefined || this.#isForward) return this.behind(signal);
    const page = await this.#page({ limit: PAGE, before }, signal);
    if (!page || page.data.length === 0) return;
    this.rows = page.data;
    this.hasBehind = false;
    this.skipped = undefined;
    this.hasBefore = page.hasMore;
    if (!page.hasMore) this.#isFirst();
  }

  async behind(signal: AbortSignal): Promise<void> {
    const last = this.rows.at(-1);
    if (!last || !this.hasBehind || this.isLoading) return;
    const page = await this.#page({ limit: PAGE, after: last.id }, signal);
    if (!page) return;
    this.rows = [...this.rows, ...page.data];
    this.hasBehind = page.hasMore;
    this.#trim('before');
  }

  /** Loads until the window is full, because that many rows are sorted. */
  async fill(signal: AbortSignal): Promise<void> {
    while (this.hasBehind && !this.isLoading && this.rows.length < WINDOW) await this.behind(signal);
  }

  async before(signal: AbortSignal): Promise<void> {
    const [first] = this.rows;
    if (!first || !this.hasBefore || this.isLoading) return;
    // The API pages some lists only forwards: these begin again.
    if (this.#isForward) return this.first(signal);
    const page = await this.#page({ limit: PAGE, before: first.id }, signal);
    if (!page) return;
    this.rows = [...page.data, ...this.rows];
    this.hasBefore = page.hasMore;
    if (this.skipped !== undefined) this.skipped = Math.max(0, this.skipped - page.data.length);
    if (!page.hasMore) this.#isFirst();
    this.#trim('behind');
  }

  /** Notes that there is no row before the first. */
  #isFirst(): void {
    this.hasBefore = false;
    this.skipped = 0;
  }

  #trim(end: 'before' | 'behind'): void {
    const excess = this.rows.length - WINDOW;
    if (excess <= 0) return;
    if (end === 'behind') this.hasBehind = true;
    else {
      this.hasBefore = true;
      if (this.skipped !== undefined) this.skipped += excess;
    }
    this.rows = end === 'before' ? this.rows.slice(excess) : this.rows.slice(0, WINDOW);
  }

  /** Returns undefined if another request was made meanwhile. */
  async #page(query: PageQuery, signal: AbortSignal): Promise<{ data: Row[]; hasMore: boolean } | undefined> {
    const asked = ++this.#asked;
    this.isLoading = true;
    try {
      const { data, has_more: says } = await this.#ask(query, signal);
      signal.throwIfAborted();
      return asked === this.#asked ? { data, hasMore: says ?? data.length >= query.limit } : undefined;
    } finally {
      if (asked === this.#asked) this.isLoading = false;
    }
  }
}

const ID = /^([a-z]+_)?((?:[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})|[0-9a-f]{32})$/;

/** Lists are in the order of their ids: before the smallest possible one is the last page. */
function smallestLike(id: string): string | undefined {
  const [, prefix = '', digits] = ID.exec(id) ?? [];
  return digits && prefix + digits.replaceAll(/[0-9a-f]/g, '0');
}
