import { valueOf, type Field } from '../../cli/families/index.ts';
import { bodyOf, cleanLines } from '../../cli/output/index.ts';

/** A field of an item as a text of many lines; what is empty or not loaded is none. */
export function textOfBody(item: object | undefined, field: Field<never>, columns?: number): string {
  const email = item as { text?: string | null; html?: string | null } | undefined;
  const value = item && valueOf(field, item, columns);
  // What has no text is read as text all the same.
  if (field.name === 'text' && !value && email?.html) return bodyOf({ text: null, html: email.html });
  if (value === null || value === undefined) return '';
  return cleanLines(typeof value === 'string' ? value : JSON.stringify(value, null, 2));
}
