import type { CallOf, Client } from '../../cli/client/index.ts';
import { inboxSearch } from '../../cli/families/index.ts';
import { placeInList } from '../draw/place.ts';
import { Pager } from '../pager.ts';
import { readFilter, writeFilter, type ReadFilter } from '../read-filter.ts';
import type { ThreadRow } from '../draw/thread.ts';

export const VIEWS = ['inbox', 'snoozed', 'archive', 'sent', 'spam', 'trash'] as const;
export type View = (typeof VIEWS)[number];

const FILTERS = inboxSearch.list.filters;

/** Which threads are seen, and which of them is in hand. The one in hand is kept by its id while others come and go. */
export class ThreadList {
  view: View = 'inbox';
  #filter: ReadFilter = readFilter(FILTERS, '', Date.now());
  #pager: Pager<ThreadRow>;
  #id: string | undefined;
  #at = 0;
  readonly #client: Client;
  readonly #inbox: string;

  constructor(client: Client, inbox: string) {
    this.#client = client;
    this.#inbox = inbox;
    this.#pager = this.#newPager();
  }

  #newPager(): Pager<ThreadRow> {
    const { view } = this;
    const { query, text } = this.#filter;
    const isSearch = this.filterText !== '';
    const folders = view === 'snoozed' ? { snoozed: true } : { folders: view };
    return new Pager<ThreadRow>(async (paging, signal) => {
      const path = { inbox: this.#inbox };
      if (!isSearch) {
        return this.#client.call('listInboxThreads', { path, query: { ...folders, ...paging } }, signal);
      }
      const asked = { ...query, ...(text === '' ? {} : { query: text }), ...paging };
      const call = { path, query: asked } as CallOf<'searchInboxThreads'>;
      return this.#client.call('searchInboxThreads', call, signal);
    }, false);
  }

  get names(): Readonly<Record<string, readonly string[]>> {
    return Object.fromEntries(Object.keys(FILTERS).map((field) => [field.replaceAll('_', '-'), []]));
  }

  get filterText(): string {
    return writeFilter(FILTERS, this.#filter);
  }

  search(text: string): void {
    this.#filter = readFilter(FILTERS, text, Date.now());
    this.#begin();
  }

  turn(step: 1 | -1): void {
    const at = VIEWS.indexOf(this.view);
    this.view = VIEWS[(at + step + VIEWS.length) % VIEWS.length] ?? 'inbox';
    this.#begin();
  }

  #begin(): void {
    this.#pager = this.#newPager();
    this.#id = undefined;
    this.#at = 0;
  }

  async refresh(signal: AbortSignal): Promise<void> {
    await this.#pager.refresh(signal, this.at);
    this.select(this.at);
  }

  async behind(signal: AbortSignal): Promise<void> {
    await this.#pager.behind(signal);
  }

  get place(): string {
    return placeInList(this.#pager, this.at);
  }

  get rows(): readonly ThreadRow[] {
    return this.#pager.rows;
  }

  get isLoaded(): boolean {
    return this.#pager.isLoaded;
  }

  get hasBehind(): boolean {
    return this.#pager.hasBehind;
  }

  /** Where the one in hand went away, what took its place is in hand: the next one. */
  get at(): number {
    const found = this.rows.findIndex(({ id }) => id === this.#id);
    return Math.max(0, found === -1 ? Math.min(this.#at, this.rows.length - 1) : found);
  }

  get row(): ThreadRow | undefined {
    return this.rows[this.at];
  }

  select(at: number): void {
    this.#at = Math.max(0, Math.min(at, this.rows.length - 1));
    this.#id = this.rows[this.#at]?.id;
  }

  /** What was done with is gone from this view before the server is asked again. */
  drop(id: string): void {
    const { at } = this;
    this.#pager.rows = this.#pager.rows.filter((row) => row.id !== id);
    this.select(at);
  }

  /** Shown as it is now, before the server is asked again. */
  amend(id: string, change: Partial<ThreadRow>): void {
    this.#pager.rows = this.#pager.rows.map((row) => (row.id === id ? { ...row, ...change } : row));
  }
}
