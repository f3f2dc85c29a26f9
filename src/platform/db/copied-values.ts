import { createHash } from 'node:crypto';
import type { CopiedTable } from './table-shapes.ts';
import type { Dialect, Row, Value } from './types.ts';

/** PostgreSQL stores no NUL in a text; what stands for it there. */
const NUL = '\0';
const STAND_IN = '\uFFFD';

export interface FittedRow {
  row: Row;
  /** Whether a character was replaced that the target cannot store. */
  isChanged: boolean;
}

/** A row as both databases store it: what one alone can store is replaced, and JSON is written in one way. */
export function fitRow(row: Row, table: CopiedTable, into: Dialect): FittedRow {
  const fitted: Row = {};
  let isChanged = false;
  for (const { name, kind } of table.columns) {
    const value = row[name] ?? null;
    if (typeof value === 'string') {
      const text = kind === 'json' ? jsonFor(value, into) : { text: textFor(value, into), isChanged: false };
      fitted[name] = text.text;
      isChanged ||= text.isChanged || (kind !== 'json' && text.text !== value);
    } else fitted[name] = value;
  }
  return { row: fitted, isChanged };
}

const textFor = (text: string, into: Dialect): string =>
  into === 'pg' && text.includes(NUL) ? text.replaceAll(NUL, STAND_IN) : text;

/** Its fields in the order of their names: `jsonb` has an order of its own, and asks for no half of a surrogate pair. */
function jsonFor(text: string, into: Dialect): { text: string; isChanged: boolean } {
  let isChanged = false;
  const clean = (part: string): string => {
    if (into !== 'pg') return part;
    const fit = textFor(part, into).toWellFormed();
    isChanged ||= fit !== part;
    return fit;
  };
  return { text: JSON.stringify(ordered(JSON.parse(text), clean)), isChanged };
}

function ordered(value: unknown, clean: (text: string) => string): unknown {
  if (typeof value === 'string') return clean(value);
  if (Array.isArray(value)) return value.map((one) => ordered(one, clean));
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value).map(([name, one]): [string, unknown] => [clean(name), ordered(one, clean)]);
  return Object.fromEntries(fields.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)));
}

/** One text for all values of a row; two rows have the same where every value is the same. */
export const rowText = (row: Row, table: CopiedTable): string =>
  JSON.stringify(table.columns.map(({ name }) => comparable(row[name] ?? null)));

const comparable = (value: Value): unknown =>
  Buffer.isBuffer(value) ? { bytes: value.length, sha256: createHash('sha256').update(value).digest('hex') } : value;

/** Which values of two rows differ. */
export const differing = (a: Row, b: Row, table: CopiedTable): string[] =>
  table.columns
    .map(({ name }) => name)
    .filter((name) => JSON.stringify(comparable(a[name] ?? null)) !== JSON.stringify(comparable(b[name] ?? null)));

/** About what it takes in memory. */
export function rowBytes(row: Row): number {
  let bytes = 0;
  for (const value of Object.values(row))
    bytes += typeof value === 'string' || Buffer.isBuffer(value) ? 16 + value.length : 16;
  return bytes;
}

/** A row by the values of its key, as people are told. */
export const keyText = (row: Row, table: CopiedTable): string =>
  table.key.map((name) => `${name} ${String(row[name])}`).join(', ');
