export interface Page<Row> {
  /** Some lists do not say: a page that is not full is their last one. */
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
/** So many rows are held, however long a list is. */
export const WINDOW = 200;

/**
 * A window on a list that may have millions of rows: pages are added where one moves to and dropped at the other end. Only
 * the ids at its ends are needed to go on in either direction.
 */
export class Pager<Row extends { id: string }> {
  rows: Row[] = [];
  /** There are rows before the first and behind the last. */
  hasBefore = false;
  hasBehind = false;
  isLoaded = false;
  isLoading = false;
  readonly #ask: AskPage<Row>;
  readonly #isForward: boolean;

  constructor(ask: AskPage<Row>, isForward: boolean) {
    this.#ask = ask;
    this.#isForward = isForward;
  }

  /** The newest page; what was loaded behind it stays where nothing is missing in between. */
  async refresh(signal: AbortSignal): Promise<void> {
    const { data, hasMore } = await this.#page({ limit: PAGE }, signal);
    const last = data.at(-1);
    const at = last ? this.rows.findIndex(({ id }) => id === last.id) : -1;
    const kept = at === -1 ? [] : this.rows.slice(at + 1);
    this.rows = [...data, ...kept];
    if (kept.length === 0) this.hasBehind = hasMore;
    this.hasBefore = false;
    this.isLoaded = true;
    this.#trim('behind');
  }

  async behind(signal: AbortSignal): Promise<void> {
    const last = this.rows.at(-1);
    if (!last || !this.hasBehind || this.isLoading) return;
    const { data, hasMore } = await this.#page({ limit: PAGE, after: last.id }, signal);
    this.rows = [...this.rows, ...data];
    this.hasBehind = hasMore;
    this.#trim('before');
  }

  async before(signal: AbortSignal): Promise<void> {
    const [first] = this.rows;
    if (!first || !this.hasBefore || this.isLoading) return;
    // The API pages some lists in one direction alone: these begin anew.
    if (this.#isForward) return this.refresh(signal);
    const { data, hasMore } = await this.#page({ limit: PAGE, before: first.id }, signal);
    this.rows = [...data, ...this.rows];
    this.hasBefore = hasMore;
    this.#trim('behind');
  }

  #trim(end: 'before' | 'behind'): void {
    const excess = this.rows.length - WINDOW;
    if (excess <= 0) return;
    if (end === 'before') this.hasBefore = true;
    else this.hasBehind = true;
    this.rows = end === 'before' ? this.rows.slice(excess) : this.rows.slice(0, WINDOW);
  }

  async #page(query: PageQuery, signal: AbortSignal): Promise<{ data: Row[]; hasMore: boolean }> {
    this.isLoading = true;
    try {
      const { data, has_more: says } = await this.#ask(query, signal);
      signal.throwIfAborted();
      return { data, hasMore: says ?? data.length >= query.limit };
    } finally {
      this.isLoading = false;
    }
  }
}
