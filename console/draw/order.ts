import { readWords, valueOf, type Field } from '../../cli/families/index.ts';

/** By which column rows are sorted, and whether the largest comes first. */
export interface Order {
  field: Field<never>;
  isDown: boolean;
}

const collator = new Intl.Collator(undefined, { numeric: true, sensitivity: 'base' });

/** Rows in this order; those that have nothing there stand at the end, and those that are alike stay as they stood. */
export function inOrder<Row extends object>(rows: readonly Row[], { field, isDown }: Order): readonly Row[] {
  const keyed = rows.map((row) => ({ row, key: keyOf(field, row) }));
  const filled = keyed.filter(({ key }) => key !== undefined);
  const empty = keyed.filter(({ key }) => key === undefined);
  filled.sort((a, b) => (isDown ? -1 : 1) * compared(a.key ?? '', b.key ?? ''));
  return [...filled, ...empty].map(({ row }) => row);
}

/** Numbers by their size, times by when they are, and everything else as it is read. */
function keyOf(field: Field<never>, row: object): string | number | undefined {
  const value = valueOf(field, row);
  if (typeof value === 'number') return value;
  if (field.kind === 'time' || field.kind === 'moment') {
    const at = typeof value === 'string' ? Date.parse(value) : Number.NaN;
    return Number.isNaN(at) ? undefined : at;
  }
  const words = readWords(field, row);
  return words === '' ? undefined : words;
}

function compared(one: string | number, other: string | number): number {
  if (typeof one === 'number' && typeof other === 'number') return one - other;
  return collator.compare(String(one), String(other));
}

/**
 * The order behind a key: `>` goes to the next column and `<` to the one before, with none behind the last; `=` turns it round.
 * Undefined for any other key.
 */
export function orderBy(
  key: string,
  now: Order | undefined,
  shown: readonly Field<never>[],
): { order: Order | undefined } | undefined {
  if (key === '=') return now && { order: { ...now, isDown: !now.isDown } };
  if (key !== '>' && key !== '<') return undefined;
  const at = shown.findIndex(({ name }) => name === now?.field.name);
  const step = key === '>' ? 1 : -1;
  // Before the first stands the order of the list itself.
  const to = (at + 1 + step + shown.length + 1) % (shown.length + 1);
  const field = shown[to - 1];
  return { order: field && { field, isDown: false } };
}
