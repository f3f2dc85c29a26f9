import { invalidFields } from '../../../platform/refusal/index.ts';
import type { PropertyType } from '../../../protocol/contact-filter/index.ts';
import { ID_LISTS, type ColumnMap } from '../../../protocol/csv/index.ts';
import type { Choice } from '../topics/index.ts';

const OWN = ['email', 'first_name', 'last_name', 'unsubscribed', ...ID_LISTS] as const;
const KEY = /^[A-Za-z0-9_]{1,50}$/;
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const TYPES: readonly unknown[] = ['string', 'number', 'boolean'];
const LIST_MAX = 200;

const bad = (path: string, says: string) => invalidFields([{ path, message: `${path} ${says}.` }]);

export function readConflict(text: string | undefined): 'upsert' | 'skip' {
  if (text === undefined || text === '' || text === 'skip') return 'skip';
  if (text === 'upsert') return text;
  throw bad('on_conflict', 'must be upsert or skip');
}

export function readStartAutomations(text: string | undefined): boolean {
  if (text === undefined || text === '' || text === 'false') return false;
  if (text === 'true') return true;
  throw bad('start_automations', 'must be true or false');
}

export function readColumnMap(text: string | undefined): ColumnMap | undefined {
  const map = parse('column_map', text);
  if (map === undefined || map === null) return undefined;
  if (!isObject(map)) throw bad('column_map', 'must be a JSON object');
  const read: ColumnMap = {};
  for (const [name, value] of Object.entries(map)) {
    const own = OWN.find((field) => field === name);
    if (own) read[own] = readColumn(`column_map.${name}`, value);
    else if (name !== 'properties') throw bad(`column_map.${name}`, `is none of ${OWN.join(', ')} and properties`);
  }
  if (map['properties'] === undefined || map['properties'] === null) return read;
  return { ...read, properties: readProperties(map['properties']) };
}

function readProperties(value: unknown): NonNullable<ColumnMap['properties']> {
  if (!isObject(value)) throw bad('column_map.properties', 'must be an object of property keys');
  const read: Record<string, { column: string; type?: PropertyType | undefined }> = {};
  for (const [key, given] of Object.entries(value)) {
    const path = `column_map.properties.${key}`;
    if (!KEY.test(key) || key === '__proto__')
      throw bad(path, 'is no property key: 1 to 50 letters, digits and underscores');
    if (!isObject(given)) {
      read[key] = { column: readColumn(path, given) };
      continue;
    }
    const stray = Object.keys(given).find((name) => name !== 'column' && name !== 'type');
    if (stray !== undefined) throw bad(`${path}.${stray}`, 'is neither column nor type');
    const { column, type } = given;
    if (type !== undefined && !TYPES.includes(type)) throw bad(`${path}.type`, 'must be string, number or boolean');
    read[key] = { column: readColumn(`${path}.column`, column), type: type as PropertyType | undefined };
  }
  return read;
}

function readColumn(path: string, value: unknown): string {
  if (typeof value === 'string' && value.trim() !== '' && value.length <= 500) return value;
  throw bad(path, 'must be the name of a column');
}

export function readSegments(text: string | undefined): { id: string }[] {
  return readList('segments', text).map((one, i) => {
    const id = isObject(one) ? one['id'] : one;
    if (typeof id !== 'string' || !UUID.test(id)) throw bad(`segments.${i}`, 'must be {id} of a segment');
    return { id };
  });
}

export function readTopics(text: string | undefined): Choice[] {
  return readList('topics', text).map((one, i) => {
    const { id, subscription } = isObject(one) ? one : {};
    const isChoice = subscription === 'opt_in' || subscription === 'opt_out';
    if (typeof id !== 'string' || !UUID.test(id) || !isChoice) {
      throw bad(`topics.${i}`, 'must be {id, subscription} with opt_in or opt_out');
    }
    return { id, subscription };
  });
}

function readList(field: string, text: string | undefined): unknown[] {
  const list = parse(field, text) ?? [];
  if (!Array.isArray(list) || list.length > LIST_MAX) throw bad(field, `must be a JSON list of at most ${LIST_MAX}`);
  return list;
}

function parse(field: string, text: string | undefined): unknown {
  if (text === undefined || text === '') return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw bad(field, 'must be JSON');
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
