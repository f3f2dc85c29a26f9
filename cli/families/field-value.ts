import { readPart, type Field } from './columns.ts';

/** Returns the value of a field of an item; `plan.limits` is the field of a field. A drawing fits the columns. */
export const readFieldValue = (field: Field<never>, item: object, columns?: number): unknown =>
  field.value ? field.value(item as never, columns) : readPart(item, field.name);

/** Returns the text that people see, for searching and for lines of its own. */
export const readWords = (field: Field<never>, item: object): string =>
  field.words ? field.words(item as never) : inWords(readFieldValue(field, item));

/** A number as a person reads it: 12,408. */
export const grouped = (value: number): string => value.toLocaleString('en-US');

/** Groups the digits of every number in a sentence. */
export const groupedIn = (text: string): string => text.replaceAll(/\d{4,}/g, (digits) => grouped(Number(digits)));

export function inWords(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (Array.isArray(value) && value.every((part) => typeof part !== 'object')) return value.join(', ');
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
