import { refuse } from '../../../platform/refusal/index.ts';

/** Fields of a form or a query, each there once. */
export type Fields = ReadonlyMap<string, string>;

export const FORM_BYTES_MAX = 64 * 1024;

const FORM = /^application\/x-www-form-urlencoded\s*(;|$)/i;

/** An empty body is a form without fields, whatever its type. */
export function readForm(bytes: Buffer | undefined, contentType: string | undefined): Fields {
  if (bytes === undefined || bytes.length === 0) return new Map();
  if (!FORM.test(contentType ?? '')) throw badForm('This form must be sent as application/x-www-form-urlencoded.');
  return readFields(bytes.toString('utf8'), 'This form');
}

/** Which of two values was meant cannot be known; U+FFFD stands for bytes that are not UTF-8. */
export function readFields(text: string, what = 'This address'): Fields {
  const fields = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(text)) {
    if (fields.has(name)) throw badForm(`${what} names ${JSON.stringify(name.slice(0, 50))} twice.`);
    if (name.includes('\uFFFD') || value.includes('\uFFFD')) throw badForm(`${what} is not in UTF-8.`);
    fields.set(name, value);
  }
  return fields;
}

const badForm = (say: string) => refuse('validation_error', { status: 400, say });
