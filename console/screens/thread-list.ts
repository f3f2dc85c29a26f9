import type { CallOf, Client, AnswerOf } from '../../cli/client/index.ts';
import { answeringInWords, inboxSearch, pausedInWords } from '../../cli/families/index.ts';
import { placeInList } from '../draw/scroll.ts';
import { Pager } from '../pager.ts';
import { readFilter, writeFilter, type ReadFilter } from '../read-filter.ts';
import {
  formatEmailBody,
  clean,
  cleanLines,
  formatEmailHead,
  type Terminal,
  type ThreadEmail,
} from '../../cli/output/index.ts';
import { bold, faint, fit, inverse, shownWidth, wrap } from '../draw/text.ts';

const VIEWS = ['inbox', 'automatic', 'snoozed', 'archive', 'sent', 'spam', 'trash'] as const;
type View = (typeof VIEWS)[number];

const FILTERS = inboxSearch.list.filters;

/** The visible threads and the selected one. The selection is kept by id while others come and go. */
export class ThreadList {
  view: View = 'inbox';
  #filter: ReadFilter = readFilter(FILTERS, '', Date.now());
  #pager: Pager<ThreadRow>;
  #id: string | undefined;
  #at = 0;
  /** A thread that is about to move to the beginning of the list, and the one that follows it where it is now. */
  #moving: { id: string; next: string | undefined } | undefined;
  /** The thread that was selected before the search. */
  #left: string | undefined;
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

  /** Searches; an empty text ends the search, and selects the thread again from which it began. */
  search(text: string): void {
    if (this.filterText === '') this.#left = this.row?.id;
    this.#filter = readFilter(FILTERS, text, Date.now());
    this.#begin();
    if (this.filterText === '') this.#id = this.#left;
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

  /** If the selected thread is gone, the one that took its place is selected. */
  get at(): number {
    const found = this.rows.findIndex(({ id }) => id === this.#id);
    return Math.max(0, found === -1 ? Math.min(this.#at, this.rows.length - 1) : found);
  }

  get row(): ThreadRow | undefined {
    return this.rows[this.at];
  }

  find(id: string): ThreadRow | undefined {
    return this.rows.find((row) => row.id === id);
  }

  select(at: number): void {
    this.#at = Math.max(0, Math.min(at, this.rows.length - 1));
    this.#id = this.rows[this.#at]?.id;
    if (this.#moving?.id !== this.#id) this.#moving = undefined;
  }

  /** Keeps the place in the list of the selected thread: an answer moves it to the beginning. */
  keepPlace(): void {
    const { at, row } = this;
    if (!row || this.#moving?.id === row.id) return;
    this.#moving = { id: row.id, next: (this.rows[at + 1] ?? this.rows[at - 1])?.id };
  }

  /**
   * Removes a thread that was dealt with from this view before the server is called. The one that followed it is
   * selected, even if an answer has moved it meanwhile.
   */
  drop(id: string): void {
    const { at } = this;
    this.#pager.rows = this.#pager.rows.filter((row) => row.id !== id);
    const next = this.#moving?.id === id ? this.rows.findIndex((row) => row.id === this.#moving?.next) : -1;
    this.#moving = undefined;
    this.select(next === -1 ? at : next);
  }

  /** Shows a change before the server is called again. */
  amend(id: string, change: Partial<ThreadRow>): void {
    this.#pager.rows = this.#pager.rows.map((row) => (row.id === id ? { ...row, ...change } : row));
  }
}

export type ThreadRow = AnswerOf<'listInboxThreads'>['data'][number];

export interface OpenThread {
  thread: AnswerOf<'getInboxThread'>;
  /** The newest last. */
  emails: readonly ThreadEmail[];
  hasOlder: boolean;
}

/** A row of the list takes two lines: sender and time, and subject. */
export const ROW_LINES = 2;

/**
 * Draws the last sender, or after an arrow the recipient that the inbox has answered since. The sender is the one that
 * the email claims: only the thread next to it knows whether that is proven. A thread that a search found names its
 * folder.
 */
export function drawThreadRow(
  row: ThreadRow,
  { isInHand, width, isFound }: { isInHand: boolean; width: number; isFound: boolean },
): string[] {
  const when = shortTime(row.received_at);
  const sign = row.read ? ' ' : '●';
  const others = clean(nameIn(row.to[0] ?? row.cc[0] ?? row.bcc[0] ?? ''));
  const who = row.direction === 'outbound' ? `→ ${others}` : clean(nameIn(row.from ?? row.to.join(', ')));
  const count = row.email_count > 1 ? ` (${row.email_count})` : '';
  const room = Math.max(4, width - when.length - 4);
  const named = fit(who, Math.min(shownWidth(who), Math.max(4, room - count.length))) + count;
  const folder = row.snoozed_until === null ? row.folder : 'snoozed';
  const signs = [
    isFound ? folder : '',
    answeringInBrief(row),
    row.has_draft ? 'draft' : '',
    row.has_attachment ? 'file' : '',
    ...row.labels.map(({ name }) => name),
  ];
  const marks = signs.filter(Boolean).map((one) => `[${clean(one)}]`);
  const first = `${isInHand ? '›' : ' '}${sign} ${fit(named, room)} ${when}`;
  const second = `   ${[...marks, clean(row.subject ?? '(no subject)')].join(' ')}`;
  const lines = [fit(first, width), fit(second, width)];
  if (isInHand) return lines.map(inverse);
  return row.read ? lines : [bold(lines[0] ?? ''), lines[1] ?? ''];
}

/** Names who else is answering, in a few letters: a row has room for little more than the subject. */
function answeringInBrief({ answering }: Pick<ThreadRow, 'answering'>): string {
  const [first, ...more] = answering.filter(({ is_caller: isCaller }) => !isCaller);
  if (!first) return '';
  return more.length > 0 ? `${more.length + 1} answering` : `${first.name.split(/[\s@]/)[0] ?? ''} answering`;
}

/** Returns the name of `Ada Lovelace <ada@example.org>`, or the address if there is none. */
const nameIn = (from: string): string => /^\s*"?([^"<]*[^"<\s])"?\s*</.exec(from.slice(0, 400))?.[1] ?? from;

/** Formats a time by the local clock, without its year. */
export function shortTime(time: string | Date): string {
  const at = new Date(time);
  const local = new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString();
  return `${local.slice(5, 10)} ${local.slice(11, 16)}`;
}

/** The number of consecutive quoted lines that are shown; everybody has read earlier quotes. */
const QUOTED_SHOWN = 3;

interface DrawnThread {
  lines: string[];
  /** The line at which the newest email begins. */
  newestAt: number;
}

/** A thread as text, the newest email last. */
export function drawThread(
  terminal: Terminal,
  { thread, emails, hasOlder }: OpenThread,
  { width, isQuoteShown }: { width: number; isQuoteShown: boolean },
): DrawnThread {
  const { labels, assignee, notes, snoozed_until: until } = thread;
  const known = [
    ...labels.map(({ name }) => `[${clean(name)}]`),
    ...(assignee === null ? [] : [`for ${clean(assignee)}`]),
    ...(until === null ? [] : [`snoozed until ${shortTime(until)}`]),
  ].join('  ');
  const others = thread.answering.find(({ is_caller: isCaller }) => !isCaller);
  const lines = [
    ...wrap(bold(clean(thread.subject ?? '(no subject)')), width),
    ...(known === '' ? [] : wrap(known, width)),
    ...(others ? wrap(`${clean(answeringInWords(thread))} since ${shortTime(others.since).slice(6)}.`, width) : []),
    ...(thread.answers_paused ? wrap(`Programs: ${clean(pausedInWords(thread))}`, width) : []),
    ...(notes === null ? [] : wrap(`Note: ${cleanLines(notes)}`, width)),
    ...(hasOlder ? [faint(fit('Older emails are not shown here.', width))] : []),
  ];
  let newestAt = 0;
  for (const email of emails) {
    newestAt = lines.length;
    const rule = '─'.repeat(Math.max(0, width));
    const head = formatEmailHead({ ...terminal, isTty: true }, email).flatMap((line) => wrap(faint(line), width));
    const body = wrap(isQuoteShown ? formatEmailBody(email) : withoutQuotes(formatEmailBody(email)), width);
    const subject = isOtherSubject(email.subject, thread.subject) ? `Subject: ${clean(email.subject ?? '')}` : '';
    const about = subject === '' ? [] : wrap(faint(subject), width);
    lines.push(faint(rule), ...head, ...about, '', ...body, '');
  }
  return { lines, newestAt };
}

/** Reports whether an email has another subject than its thread, apart from prefixes such as `Re:`. */
function isOtherSubject(own: string | null, thread: string | null): boolean {
  const bare = (subject: string | null): string => (subject ?? '').replace(/^(?:\s*\p{L}{1,4}\s*[:：])+/u, '').trim();
  return bare(own) !== bare(thread);
}

function withoutQuotes(text: string): string {
  const lines = text.split('\n');
  const shown: string[] = [];
  for (let at = 0; at < lines.length;) {
    let end = at;
    while (lines[end]?.startsWith('>')) end++;
    const kept = end - at > QUOTED_SHOWN ? lines.slice(at, at + QUOTED_SHOWN - 1) : lines.slice(at, end);
    if (end > at) shown.push(...kept);
    if (end - at > QUOTED_SHOWN) shown.push(`  … ${end - at - kept.length} more quoted lines (o shows them)`);
    if (end === at) shown.push(lines[end++] ?? '');
    at = end;
  }
  return shown.join('\n');
}
