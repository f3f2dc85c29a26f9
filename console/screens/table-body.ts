import type { Field } from '../../cli/families/index.ts';
import type { Terminal } from '../../cli/output/index.ts';
import { inOrder, orderBy, drawBelow, layTable, type Order, type Table } from '../draw/table.ts';
import { formatPosition, withBar } from '../draw/scroll.ts';
import type { Size } from './screen.ts';

/** The keys for sorting, the same in every table. */
export const SORT_KEYS = [
  ['> <', 'sort by the next or the previous column'],
  ['=', 'reverse the order'],
] as const;

/** Rows to move through: the selected one, the marked ones, and the visible part. */
export class TableBody<Row extends object> {
  readonly fields: readonly Field<never>[];
  readonly marked = new Map<string, Row>();
  readonly #toId: (row: Row) => string;
  /** The selected row. Without one it is the first, whichever that is. */
  #selected: string | undefined;
  #top = 0;
  /** The index of the first visible row. */
  #height = 10;
  #lastAt = 0;
  /** The columns that were drawn last. */
  #shown: readonly Field<never>[] = [];
  order: Order | undefined;

  constructor(fields: readonly Field<never>[], toId: (row: Row) => string) {
    this.fields = fields;
    this.#toId = toId;
  }

  at(rows: readonly Row[]): number {
    if (this.#selected === undefined) return 0;
    const found = rows.findIndex((row) => this.#toId(row) === this.#selected);
    return found === -1 ? Math.max(0, Math.min(this.#lastAt, rows.length - 1)) : found;
  }

  /** These rows as they are shown. */
  ordered(rows: readonly Row[]): readonly Row[] {
    return this.order ? inOrder(rows, this.order) : rows;
  }

  /** The order in words, for the line of crumbs. */
  get orderInWords(): string {
    return this.order ? `by ${this.order.field.label.toLowerCase()} · ` : '';
  }

  /** Returns the position of the selected row; empty if there are no rows. */
  place(rows: readonly Row[]): string {
    return rows.length === 0 ? '' : formatPosition(this.at(rows), rows.length);
  }

  row(rows: readonly Row[]): Row | undefined {
    return rows[this.at(rows)];
  }

  /** Handles a key for sorting or moving; returns whether it was one. */
  key(key: string, rows: readonly Row[]): boolean {
    const sorted = orderBy(key, this.order, this.#shown);
    if (sorted) {
      this.order = sorted.order;
      this.select([], 0);
      return true;
    }
    const at = this.at(rows);
    const target = computeTarget(key, at, rows.length, this.#height);
    if (target === undefined) return false;
    this.select(rows, target);
    return true;
  }

  /** Keeps this row selected, whatever is inserted before it. */
  hold(row: Row): void {
    this.#selected = this.#toId(row);
  }

  select(rows: readonly Row[], target: number): void {
    const at = Math.max(0, Math.min(rows.length - 1, target));
    const row = rows[at];
    this.#lastAt = at;
    this.#selected = at === 0 || row === undefined ? undefined : this.#toId(row);
  }

  mark(rows: readonly Row[]): void {
    const row = this.row(rows);
    if (row === undefined) return;
    const id = this.#toId(row);
    if (!this.marked.delete(id)) this.marked.set(id, row);
    this.select(rows, this.at(rows) + 1);
  }

  markAll(rows: readonly Row[]): void {
    for (const row of rows) this.marked.set(this.#toId(row), row);
  }

  /** Removes all marks; returns whether there were any. */
  unmark(): boolean {
    const had = this.marked.size > 0;
    this.marked.clear();
    return had;
  }

  draw(terminal: Terminal, rows: readonly Row[], { columns, rows: height, hasBeside, isAside }: Size): string[] {
    // The table keeps eight lines, if it has as many.
    const most = height - Math.min(8, rows.length + 2);
    const below = height >= 12 && !hasBeside ? drawBelow(this.fields, this.row(rows), columns, most) : [];
    const room = Math.max(2, height - below.length - (below.length > 0 ? 1 : 0));
    const cursor = this.at(rows);
    this.#lastAt = cursor;
    const { head, row, space, isCut } = this.#lay(terminal, rows, { columns, rows: room, hasBeside, isAside });
    this.#top = firstSeen((at) => row(at).length, { top: this.#top, cursor, count: rows.length, space });
    const seen: string[] = [];
    let at = this.#top;
    for (; at < rows.length && seen.length + row(at).length <= space; at++) seen.push(...row(at));
    this.#height = Math.max(1, at - this.#top);
    // A row that is taller than the terminal is visible in part.
    const shown = (seen.length > 0 ? seen : row(cursor)).slice(0, space);
    const filled = isCut ? [...shown, ...Array.from({ length: space - shown.length }, () => '')] : shown;
    const part = { top: this.#top, seen: at - this.#top, count: rows.length };
    const table = [...head, ...withBar(filled, part, { columns, hasBeside })].slice(0, room);
    if (below.length === 0) return table;
    return [...table, ...Array.from({ length: room - table.length + 1 }, () => ''), ...below].slice(0, height);
  }

  /** Lays out the table, a column narrower if it needs a scroll bar. */
  #lay(
    terminal: Terminal,
    rows: readonly Row[],
    { columns, rows: room, hasBeside, isAside }: Size,
  ): Table & { space: number; isCut: boolean } {
    const { order } = this;
    const sign = order?.isDown ? '↓' : '↑';
    const fields = this.fields.map((field) =>
      field.name === order?.field.name ? { ...field, label: `${field.label} ${sign}` } : field,
    );
    const isMarked = (row: object): boolean => this.marked.has(this.#toId(row as Row));
    const view = { fields, rows, cursor: this.at(rows), isMarked, isAside, hasBeside };
    const narrow = hasBeside ? columns : columns - 1;
    // So many rows cannot fit, however few lines each takes.
    let isCut = rows.length >= room;
    let table = layTable(terminal, view, isCut ? narrow : columns);
    const space = Math.max(1, room - table.head.length);
    if (!isCut && takeMore(table, rows.length, space)) {
      isCut = true;
      table = layTable(terminal, view, narrow);
    }
    this.#shown = table.shown
      .map(({ name }) => this.fields.find((field) => field.name === name))
      .filter((field) => field !== undefined);
    return { ...table, space: Math.max(1, room - table.head.length), isCut };
  }
}

/** Reports whether these rows take more lines than there are. */
function takeMore({ row }: Table, count: number, space: number): boolean {
  let used = 0;
  for (let at = 0; at < count && used <= space; at++) used += row(at).length;
  return used > space;
}

/** Returns the first visible row, such that the selected one is visible whole and no space remains below the last. */
function firstSeen(
  measureHeight: (at: number) => number,
  { top, cursor, count, space }: { top: number; cursor: number; count: number; space: number },
): number {
  const upFrom = (last: number): number => {
    let first = last;
    for (let used = measureHeight(last); first > 0; first--) {
      used += measureHeight(first - 1);
      if (used > space) break;
    }
    return first;
  };
  return Math.min(Math.max(Math.min(top, cursor), upFrom(cursor)), upFrom(Math.max(0, count - 1)));
}

function computeTarget(key: string, at: number, length: number, page: number): number | undefined {
  switch (key) {
    case 'up':
    case 'k':
      return at - 1;
    case 'down':
    case 'j':
      return at + 1;
    case 'pageup':
    case 'ctrl-b':
      return at - page;
    case 'pagedown':
    case 'ctrl-f':
      return at + page;
    case 'ctrl-u':
      return at - Math.floor(page / 2);
    case 'ctrl-d':
      return at + Math.floor(page / 2);
    case 'home':
    case 'g':
      return 0;
    case 'end':
    case 'G':
      return length - 1;
    default:
      return undefined;
  }
}
