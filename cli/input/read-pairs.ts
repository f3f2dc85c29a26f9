import type { TemplateVariableRequest } from '../../src/contract/index.ts';
import { CliFault } from '../output/index.ts';

/** What an option is called where it was typed. */
export type NameOption = (option: string) => string;

/** Where something was typed. */
export interface Place {
  nameOf: NameOption;
  /** Where files are that are named without a folder. */
  cwd: string;
  /** How much may be attached, where that is limited. */
  attachmentsMibMax?: number;
}

export const onCommandLine: NameOption = (option) => `--${option}`;

export const wrong = (says: string, text: string): CliFault =>
  new CliFault(`${says}; got ${JSON.stringify(text)}`, 'usage');

const FIELDS = [
  ...['email', 'first_name', 'last_name', 'unsubscribed'],
  ...['segment_ids', 'opted_in_topic_ids', 'opted_out_topic_ids'],
];

/** Which fields of an import stand in which of its columns. */
export function readColumns(given: readonly string[], nameOf: NameOption): Record<string, string> {
  const map: Record<string, string> = {};
  for (const text of given) {
    const [, field = '', column = ''] = /^([^=]+)=([^]+)$/.exec(text) ?? [];
    if (!FIELDS.includes(field)) throw wrong(`${nameOf('column')} takes ${FIELDS.join('=, ')}= a column`, text);
    map[field] = column;
  }
  return map;
}

/** Which properties stand in which columns, and as what. */
export function readMappedProperties(given: readonly string[], nameOf: NameOption): Record<string, unknown> {
  const says = `${nameOf('property')} takes key=column, key:number=column or key:boolean=column`;
  return Object.fromEntries(given.map((text) => readMapped(text, says)));
}

function readMapped(text: string, says: string): [string, { column: string; type?: string }] {
  const [, key = '', type, column = ''] = /^([^:=]+)(?::(string|number|boolean))?=([^]+)$/.exec(text) ?? [];
  if (key === '') throw wrong(says, text);
  return [key, type === undefined ? { column } : { column, type }];
}

type Value = string | number | boolean;

/** The values of a contact's properties. */
export const readProperties = (given: readonly string[], nameOf: NameOption): Record<string, Value> =>
  Object.fromEntries(given.map((text) => readProperty(text, nameOf('property'))));

function readProperty(text: string, option: string): [string, Value] {
  const [, key = '', isJson, value = ''] = /^([^:=]+)(:?)=([^]*)$/.exec(text) ?? [];
  if (key === '') throw wrong(`${option} takes key=text or key:=value`, text);
  if (isJson === '') return [key, value];
  if (value === 'true' || value === 'false') return [key, value === 'true'];
  const number = Number(value);
  if (value.trim() !== '' && Number.isFinite(number)) return [key, number];
  throw wrong(`${option} has no number, true or false behind the :=`, text);
}

export function readTopics(
  given: readonly string[],
  nameOf: NameOption,
): { id: string; subscription: 'opt_in' | 'opt_out' }[] {
  return given.map((text) => {
    const [, id = '', subscription = ''] = /^([^=]+)=(opt_in|opt_out)$/.exec(text) ?? [];
    if (id === '') throw wrong(`${nameOf('topic')} takes ID=opt_in or ID=opt_out`, text);
    return { id, subscription: subscription as 'opt_in' };
  });
}

/** The fallback of a property, as the property's type has it. */
export function readFallback(type: string, text: string, nameOf: NameOption): string | number {
  if (type !== 'number') return text;
  const number = Number(text);
  if (text.trim() !== '' && Number.isFinite(number)) return number;
  throw wrong(`${nameOf('fallback')} of a number takes a number`, text);
}

/** `key=value, key=value`: a comma belongs to a value unless another key stands behind it. */
export const splitPairs = (text: string): string[] =>
  text
    .split(/\s*,\s*(?=[^\s,=]+=)/)
    .map((pair) => pair.trim().replace(/,$/, ''))
    .filter((pair) => pair !== '');

/** A variable of a template: KEY, KEY=fallback, KEY:number or KEY:number=25. What is wrong with a key is the server's to say. */
export function readVariable(declaration: string, nameOf: NameOption): TemplateVariableRequest {
  const [, key = '', type = 'string', fallback] = /^([^:=]*)(?::([^=]*))?(?:=([^]*))?$/.exec(declaration) ?? [];
  if (type !== 'string' && type !== 'number')
    throw wrong(`${nameOf('variable')} has the type string or number`, declaration);
  if (fallback === undefined) return { key, type };
  if (type === 'string') return { key, type, fallback_value: fallback };
  const number = Number(fallback);
  if (fallback.trim() === '' || !Number.isFinite(number)) {
    throw wrong(`${nameOf('variable')} has no number behind the =`, declaration);
  }
  return { key, type, fallback_value: number };
}
