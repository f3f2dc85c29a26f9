import { parseIsoTime } from '../iso-time.ts';
import { parseMailbox, normalizeAddress } from '../address/index.ts';
import {
  foldText,
  readNumber,
  type Comparison,
  type Condition,
  type Declared,
  type Filter,
  type Place,
  type PropertyType,
} from './filter.ts';

/** A parsed filter: a condition that names something that does not exist is unknown for every contact. */
type ReadFilter = Filter | { kind: 'all' | 'any' | 'none'; of: readonly ReadFilter[] } | { kind: 'unknown' };

const NEVER: Filter = { kind: 'never' };

/**
 * Rewrites a three-valued filter as a two-valued one that matches exactly where the first is true. The negation of an
 * unknown condition is unknown as well, so it matches nobody either. A filter without an unknown condition stays as it
 * is.
 */
function whereTrue(filter: ReadFilter): Filter {
  return isKnown(filter) ? filter : rewrite(filter, true);
}

function isKnown(filter: ReadFilter): filter is Filter {
  return 'of' in filter ? filter.of.every(isKnown) : filter.kind !== 'unknown';
}

/**
 * Returns the filter that matches where `filter` has the wanted value; contacts with an unknown value match neither.
 */
function rewrite(filter: ReadFilter, wanted: boolean): Filter {
  switch (filter.kind) {
    case 'unknown':
      return NEVER;
    case 'all':
    case 'any': {
      const parts = filter.of.map((part) => rewrite(part, wanted));
      return (filter.kind === 'all') === wanted ? meetAll(parts) : meetAny(parts);
    }
    case 'none': {
      const parts = filter.of.map((part) => rewrite(part, !wanted));
      return wanted ? meetAll(parts) : meetAny(parts);
    }
    default:
      return wanted ? filter : { kind: 'none', of: [filter] };
  }
}

const meetAll = (parts: readonly Filter[]): Filter =>
  parts.some(({ kind }) => kind === 'never') ? NEVER : { kind: 'all', of: parts };

/** Omits parts that match nobody, because they would prevent the use of an index for the others. */
function meetAny(parts: readonly Filter[]): Filter {
  const possible = parts.filter(({ kind }) => kind !== 'never');
  return possible.length === 0 ? NEVER : { kind: 'any', of: possible };
}

export interface FilterFault {
  path: string;
  message: string;
}

export interface ParsedFilter {
  /**
   * An invalid condition is unknown, and so is its negation: a contact matches if the whole filter is true without it.
   */
  filter: Filter;
  /** One for each condition or group at fault. */
  faults: FilterFault[];
}

const DEPTH_MAX = 3;
const CONDITIONS_MAX = 20;
const VALUES_MAX = 100;
const TEXT_CHARS_MAX = 500;

const GROUPS = { all: 'all', any: 'any', not: 'none' } as const;
/** Not what every object inherits, such as `constructor`. */
const isGroup = (name: string): name is keyof typeof GROUPS => Object.hasOwn(GROUPS, name);
const TEXT_OPS = ['eq', 'neq', 'contains', 'exists', 'in'];
const NUMBER_OPS = ['eq', 'neq', 'gt', 'gte', 'lt', 'lte', 'in', 'exists'];
const DATE_OPS = ['gt', 'gte', 'lt', 'lte'];
const BOOLEAN_OPS = ['eq', 'neq', 'exists'];
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

const UNKNOWN: ReadFilter = { kind: 'unknown' };

/**
 * Parses a filter as a caller wrote it and checks each of its conditions: `{all|any|not: […]}` over `{field, op,
 * value}` and `{topic, subscription}`. `root` is its path in the request body.
 */
export function parseFilter(input: unknown, declared: Declared, root = 'filter'): ParsedFilter {
  const faults: FilterFault[] = [];
  const reader = new Reader(declared, faults);
  const filter = reader.read(input, root, 1);
  if (reader.conditions > CONDITIONS_MAX) {
    faults.push({
      path: root,
      message: `${root} has ${reader.conditions} conditions; at most ${CONDITIONS_MAX} are allowed.`,
    });
  }
  return { filter: whereTrue(filter), faults };
}

/** Lists the keys of the properties that a filter names, whether they are declared or not. */
export function listPropertyKeys(input: unknown): Set<string> {
  if (Array.isArray(input)) return new Set(input.flatMap((part) => [...listPropertyKeys(part)]));
  if (typeof input !== 'object' || input === null) return new Set();
  const { field, ...rest } = input as Fields;
  if (typeof field === 'string') return new Set(field.startsWith(PROPERTIES) ? [field.slice(PROPERTIES.length)] : []);
  return listPropertyKeys(Object.values(rest));
}

type Fields = Readonly<Record<string, unknown>>;
const PROPERTIES = 'properties.';

class Reader {
  conditions = 0;
  readonly #declared: Declared;
  readonly #faults: FilterFault[];

  constructor(declared: Declared, faults: FilterFault[]) {
    this.#declared = declared;
    this.#faults = faults;
  }

  read(input: unknown, path: string, depth: number): ReadFilter {
    if (typeof input !== 'object' || input === null || Array.isArray(input)) {
      return this.#fault(path, 'must be a group {all, any or not: [...]} or a condition {field, op, value}');
    }
    const fields = input as Fields;
    const names = Object.keys(fields);
    const groups = names.filter(isGroup);
    if (groups.length === 0) return this.#condition(fields, path);
    const stray = names.find((name) => !isGroup(name));
    if (stray !== undefined)
      return this.#fault(path, `has ${quote(stray)} next to a group; a group can only have all, any or not`);
    if (depth > DEPTH_MAX) return this.#fault(path, `is nested too deep; groups nest at most ${DEPTH_MAX} deep`);
    const read = groups.map((name) => this.#group(name, fields[name], `${path}.${name}`, depth));
    return read.length === 1 && read[0] ? read[0] : { kind: 'all', of: read };
  }

  #group(name: keyof typeof GROUPS, input: unknown, path: string, depth: number): ReadFilter {
    if (!Array.isArray(input) || input.length === 0)
      return this.#fault(path, 'must be a list of at least one condition');
    if (input.length > CONDITIONS_MAX) {
      return this.#fault(path, `has ${input.length} entries; at most ${CONDITIONS_MAX} conditions are allowed`);
    }
    return { kind: GROUPS[name], of: input.map((part, i) => this.read(part, `${path}.${i}`, depth + 1)) };
  }

  #condition(fields: Fields, path: string): ReadFilter {
    this.conditions++;
    if ('topic' in fields) return this.#topic(fields, path);
    const stray = Object.keys(fields).find((name) => !['field', 'op', 'value'].includes(name));
    if (stray !== undefined)
      return this.#fault(path, `has ${quote(stray)}; a condition is {field, op, value} or {topic, subscription}`);
    const { field, op } = fields;
    if (typeof field !== 'string') return this.#fault(path, 'must have a field');
    const found = this.#findField(field);
    if (found === undefined) return this.#fault(path, unknownField(field, this.#declared));
    const ops = found.ops;
    if (typeof op !== 'string' || !ops.includes(op)) {
      return this.#fault(path, `has the operator ${quote(op)}; ${field} takes ${ops.join(', ')}`);
    }
    const made = parseCondition(found, op, fields['value']);
    return 'kind' in made ? made : this.#fault(path, `has an invalid value: ${field} with ${op} ${made.fault}`);
  }

  #topic(fields: Fields, path: string): ReadFilter {
    const { topic, subscription } = fields;
    const stray = Object.keys(fields).find((name) => !['topic', 'subscription'].includes(name));
    if (stray !== undefined)
      return this.#fault(path, `has ${quote(stray)}; a condition on a topic is {topic, subscription}`);
    if (subscription !== 'opt_in' && subscription !== 'opt_out') {
      return this.#fault(path, 'must have the subscription opt_in or opt_out');
    }
    const topicId = typeof topic === 'string' ? topic.toLowerCase() : '';
    const found = UUID.test(topicId) ? this.#declared.topics.find(({ id }) => id === topicId) : undefined;
    if (!found) return this.#fault(path, `refers to the topic ${quote(topic)}, which this team does not have`);
    return { kind: 'topic', topicId, subscription, isDefault: found.default_subscription === subscription };
  }

  #findField(field: string): Field | undefined {
    const own = OWN_FIELDS[field];
    if (Object.hasOwn(OWN_FIELDS, field) && own) return own;
    if (!field.startsWith(PROPERTIES)) return undefined;
    const key = field.slice(PROPERTIES.length);
    const property = this.#declared.properties.find((one) => one.key === key);
    if (!property) return undefined;
    const place: Place = { of: 'property', propertyId: property.id, slot: property.slot };
    return { type: property.type, place, ops: OPS_OF_TYPE[property.type] };
  }

  #fault(path: string, message: string): ReadFilter {
    this.#faults.push({ path, message: `${path} ${message}.` });
    return UNKNOWN;
  }
}

interface Valued {
  type: PropertyType;
  place: Place;
  ops: readonly string[];
}
type Field = Valued | { type: 'date' | 'unsubscribed'; ops: readonly string[] };

const OPS_OF_TYPE: Record<PropertyType, readonly string[]> = {
  string: TEXT_OPS,
  number: NUMBER_OPS,
  boolean: BOOLEAN_OPS,
};

const OWN_FIELDS: Readonly<Record<string, Field>> = {
  // Every contact has an address.
  email: { type: 'string', place: { of: 'email' }, ops: ['eq', 'neq', 'contains', 'in'] },
  first_name: { type: 'string', place: { of: 'first_name' }, ops: TEXT_OPS },
  last_name: { type: 'string', place: { of: 'last_name' }, ops: TEXT_OPS },
  unsubscribed: { type: 'unsubscribed', ops: ['eq'] },
  created_at: { type: 'date', ops: DATE_OPS },
};

type Made = Condition | { fault: string };

function parseCondition(field: Field, op: string, value: unknown): Made {
  if (field.type === 'date') return parseCreated(op as 'gt', value);
  if (field.type === 'unsubscribed') {
    if (typeof value !== 'boolean') return { fault: 'takes true or false' };
    return { kind: 'boolean', place: { of: 'unsubscribed' }, op: 'eq', value };
  }
  const { type, place } = field as Valued;
  if (op === 'exists') {
    if (value !== undefined && typeof value !== 'boolean') return { fault: 'takes true or false' };
    return { kind: 'exists', place, type, wanted: value ?? true };
  }
  if (type === 'boolean') {
    if (typeof value !== 'boolean') return { fault: 'takes true or false' };
    return { kind: 'boolean', place, op: op as 'eq', value };
  }
  const listed = op === 'in' ? value : [value];
  if (!Array.isArray(listed) || listed.length === 0 || listed.length > VALUES_MAX) {
    return { fault: `takes a list of 1 to ${VALUES_MAX} values` };
  }
  return type === 'number' ? parseNumbers(place, op as Comparison, listed) : parseTexts(place, op as 'eq', listed);
}

function parseCreated(op: 'gt' | 'gte' | 'lt' | 'lte', value: unknown): Made {
  const time = typeof value === 'string' ? parseIsoTime(value) : undefined;
  if (!time) return { fault: 'takes an ISO 8601 date or time such as 2027-01-31T12:00:00Z' };
  return { kind: 'created', op, ms: time.ms };
}

function parseNumbers(place: Place, op: Comparison, listed: readonly unknown[]): Made {
  const values: number[] = [];
  for (const one of listed) {
    const read = readNumber(one);
    if (!read.ok) return { fault: read.fault };
    values.push(read.value);
  }
  return { kind: 'number', place, op, values };
}

function parseTexts(place: Place, op: 'eq' | 'neq' | 'contains' | 'in', listed: readonly unknown[]): Made {
  const values: string[] = [];
  for (const one of listed) {
    if (typeof one !== 'string') return { fault: 'takes a string' };
    if (one.length > TEXT_CHARS_MAX || !one.isWellFormed() || one.includes('\0')) {
      return { fault: `takes at most ${TEXT_CHARS_MAX} characters, none of them NUL or half of a surrogate pair` };
    }
    if (op === 'contains' && one === '') return { fault: 'takes at least one character' };
    values.push(place.of === 'email' && op !== 'contains' ? addressKey(one) : foldText(one));
  }
  return { kind: 'text', place, op, values };
}

/** An address is one in every spelling of its domain. */
function addressKey(text: string): string {
  const parsed = parseMailbox(text);
  return parsed.ok && parsed.mailbox.name === '' ? normalizeAddress(parsed.mailbox.address) : foldText(text);
}

function unknownField(field: string, { properties }: Declared): string {
  const key = field.startsWith(PROPERTIES) ? field.slice(PROPERTIES.length) : undefined;
  if (key === undefined) {
    return `refers to the unknown field ${quote(field)}; the fields are ${Object.keys(OWN_FIELDS).join(', ')} and properties.<key>`;
  }
  const near = properties.find((one) => one.key.toLowerCase() === key.toLowerCase());
  return `refers to the property ${quote(key)}, which is not declared${near ? `; the closest one is ${quote(near.key)}` : ''}`;
}

const quote = (value: unknown): string => {
  const text = JSON.stringify(value) ?? 'nothing';
  return text.length > 80 ? `${text.slice(0, 77)}...` : text;
};
