import { removeUtm } from '../utm.ts';
import { createHash } from 'node:crypto';
import { parseIsoTime } from '../iso-time.ts';
import { parseMailbox, normalizeAddress } from '../address/index.ts';
import {
  ENGAGEMENTS,
  foldText,
  readNumber,
  type Comparison,
  type Condition,
  type Declared,
  type DeclaredSegment,
  type EngagementKind,
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
  /** Matches the contacts for which the whole filter is false without its unknown conditions. */
  negated: Filter;
  /** One for each condition or group at fault. */
  faults: FilterFault[];
  /** A condition of the filter, or of a segment that it names, is unknown. */
  hasUnknown: boolean;
}

const DEPTH_MAX = 3;
const CONDITIONS_MAX = 20;
const VALUES_MAX = 100;
const TEXT_CHARS_MAX = 500;
/** Conditions on engagement, links and events; most of them read an index for each contact. */
const ENGAGEMENTS_MAX = 10;
const DAYS_MAX = 3650;
const LINK_CHARS_MAX = 4096;
/** How deep segments may name each other, and how many conditions they may have together. */
const SEGMENT_DEPTH_MAX = 5;
const EXPANDED_MAX = 100;
const DAY_MS = 86_400_000;

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
 * value}`, `{topic, subscription}`, `{engagement, …}`, `{event, …}` and `{segment}`. `root` is its path in the request
 * body. A segment that it names is part of the result: conditions of that segment that name something deleted are
 * unknown, and no faults of this filter.
 */
export function parseFilter(input: unknown, declared: Declared, root = 'filter'): ParsedFilter {
  const faults: FilterFault[] = [];
  const counts: Counts = { conditions: 0, engagements: 0, expanded: 0 };
  const filter = new Reader(declared, { faults, counts, inside: [] }).read(input, root, 1);
  const { conditions, engagements, expanded } = counts;
  const report = (says: string): void => void faults.push({ path: root, message: `${root} has ${says} are allowed.` });
  if (conditions > CONDITIONS_MAX) report(`${conditions} conditions; at most ${CONDITIONS_MAX}`);
  if (engagements > ENGAGEMENTS_MAX)
    report(`${engagements} conditions on engagement and events; at most ${ENGAGEMENTS_MAX}`);
  if (expanded > EXPANDED_MAX)
    report(`more than ${EXPANDED_MAX} conditions together with the segments that it names; at most ${EXPANDED_MAX}`);
  return { filter: whereTrue(filter), negated: rewrite(filter, false), faults, hasUnknown: !isKnown(filter) };
}

/** Returns the hash by which a clicked link is found. */
export const hashLink = (link: string): string => createHash('sha256').update(link).digest('hex');

/** Returns the hash by which filters compare a link: `utm_` parameters, which sending may have added, do not count. */
export const hashPlainLink = (link: string): string => hashLink(removeUtm(link));

/** Names in filters of things that have to be looked up before a filter can be parsed. Ids are in lower case. */
export interface NamedInFilters {
  segments: string[];
  broadcasts: string[];
  events: string[];
}

/** No filter that is accepted names as many things of a kind. */
const NAMED_MAX = 1000;
/** No group of a filter that is accepted is nested as deep in the body. */
const VISITED_MAX = 2 * (DEPTH_MAX + 1);

/** Lists what filters name, whether or not they are valid. */
export function listNamedIn(inputs: readonly unknown[]): NamedInFilters {
  const segments = new Set<string>();
  const broadcasts = new Set<string>();
  const events = new Set<string>();
  for (const input of inputs) visit(input, 0);
  const list = (names: Set<string>): string[] => [...names].slice(0, NAMED_MAX);
  return { segments: list(segments), broadcasts: list(broadcasts), events: list(events) };

  function visit(node: unknown, depth: number): void {
    if (typeof node !== 'object' || node === null || depth > VISITED_MAX) return;
    if (Array.isArray(node)) return node.forEach((part) => visit(part, depth + 1));
    const { segment, broadcast, event, ...rest } = node as Fields;
    for (const [id, into] of [
      [segment, segments],
      [broadcast, broadcasts],
    ] as const) {
      if (typeof id === 'string' && UUID.test(id.toLowerCase())) into.add(id.toLowerCase());
    }
    if (isEventName(event)) events.add(event);
    for (const part of Object.values(rest)) visit(part, depth + 1);
  }
}

const EVENT_CHARS_MAX = 200;
const isEventName = (name: unknown): name is string =>
  typeof name === 'string' && name.length <= EVENT_CHARS_MAX && name.isWellFormed() && !name.includes('\0');

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

interface Counts {
  /** Those of the filter itself. */
  conditions: number;
  engagements: number;
  /** Those of the filter and of the segments that it names. */
  expanded: number;
}

interface Reading {
  faults: FilterFault[];
  counts: Counts;
  /** The segments that led to this filter, each named by the one before. */
  inside: readonly DeclaredSegment[];
  /** Reports a fault at the condition of the outermost filter that led to this one; the others are no faults of that filter. */
  reportOutside?(message: string): ReadFilter;
}

class Reader {
  readonly #declared: Declared;
  readonly #reading: Reading;

  constructor(declared: Declared, reading: Reading) {
    this.#declared = declared;
    this.#reading = reading;
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
    const { counts, inside } = this.#reading;
    if (inside.length === 0) counts.conditions++;
    if (++counts.expanded > EXPANDED_MAX) return UNKNOWN;
    if ('topic' in fields) return this.#topic(fields, path);
    if ('segment' in fields) return this.#segment(fields, path);
    if ('engagement' in fields || 'event' in fields) {
      if (inside.length === 0) counts.engagements++;
      return 'event' in fields ? this.#event(fields, path) : this.#engagement(fields, path);
    }
    const stray = findStray(fields, ['field', 'op', 'value']);
    if (stray !== undefined)
      return this.#fault(
        path,
        `has ${quote(stray)}; a condition is {field, op, value}, {topic, subscription}, {engagement}, {event} or {segment}`,
      );
    const { field, op } = fields;
    if (typeof field !== 'string') return this.#fault(path, 'must have a field');
    const found = this.#findField(field);
    if (found === undefined) return this.#fault(path, unknownField(field, this.#declared));
    const ops = found.ops;
    if (typeof op !== 'string' || !ops.includes(op)) {
      return this.#fault(path, `has the operator ${quote(op)}; ${field} takes ${ops.join(', ')}`);
    }
    const made = parseCondition(found, { op, value: fields['value'], now: this.#declared.now });
    return 'kind' in made ? made : this.#fault(path, `has an invalid value: ${field} with ${op} ${made.fault}`);
  }

  #topic(fields: Fields, path: string): ReadFilter {
    const { topic, subscription } = fields;
    const stray = findStray(fields, ['topic', 'subscription']);
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

  #engagement(fields: Fields, path: string): ReadFilter {
    const { engagement, broadcast, link, within_days: days } = fields;
    const stray = findStray(fields, ['engagement', 'broadcast', 'link', 'within_days']);
    if (stray !== undefined)
      return this.#fault(
        path,
        `has ${quote(stray)}; a condition on engagement is {engagement, broadcast, link, within_days}`,
      );
    const isInactivity = engagement === 'inactive';
    if (!isInactivity && !isEngagement(engagement)) {
      return this.#fault(path, `has the engagement ${quote(engagement)}; it takes ${ENGAGEMENTS.join(', ')}, inactive`);
    }
    const since = this.#readSince(days);
    if (since === undefined) return this.#fault(path, wrongDays(days));
    if (isInactivity) {
      if (broadcast !== undefined || link !== undefined)
        return this.#fault(path, 'has a broadcast or link; inactive is about all mail');
      if (since === null) return this.#fault(path, 'must have within_days, the days without an open or click');
      return { kind: 'inactive', since };
    }
    if (link !== undefined && engagement !== 'clicked')
      return this.#fault(path, `has a link; only clicked takes one, not ${engagement}`);
    if (link !== undefined && !isLink(link))
      return this.#fault(path, `has an invalid link; it takes an address of 1 to ${LINK_CHARS_MAX} characters`);
    const linkHash = link === undefined ? null : hashPlainLink(link);
    if (broadcast === undefined)
      return linkHash === null ? { kind: 'engaged', what: engagement, since } : { kind: 'link', linkHash, since };
    if (since !== null)
      return this.#fault(path, 'has within_days next to a broadcast; the report of a broadcast has no times, omit one');
    const broadcastId = typeof broadcast === 'string' ? broadcast.toLowerCase() : '';
    if (!this.#declared.broadcasts.has(broadcastId))
      return this.#fault(path, `refers to the broadcast ${quote(broadcast)}, which this team does not have`);
    return { kind: 'recipient', broadcastId, what: engagement, linkHash };
  }

  #event(fields: Fields, path: string): ReadFilter {
    const { event, within_days: days } = fields;
    const stray = findStray(fields, ['event', 'within_days']);
    if (stray !== undefined)
      return this.#fault(path, `has ${quote(stray)}; a condition on an event is {event, within_days}`);
    const since = this.#readSince(days);
    if (since === undefined) return this.#fault(path, wrongDays(days));
    const eventId = isEventName(event) ? this.#declared.events.get(event) : undefined;
    if (eventId === undefined)
      return this.#fault(path, `refers to the event ${quote(event)}, which this team does not have`);
    return { kind: 'event', eventId, since };
  }

  /** Returns the time from which the last days are counted, null if they are not limited, undefined for a wrong number. */
  #readSince(days: unknown): number | null | undefined {
    if (days === undefined) return null;
    const isDays = typeof days === 'number' && Number.isInteger(days) && days >= 1 && days <= DAYS_MAX;
    return isDays ? this.#declared.now - days * DAY_MS : undefined;
  }

  #segment(fields: Fields, path: string): ReadFilter {
    const { segment } = fields;
    const stray = findStray(fields, ['segment']);
    if (stray !== undefined) return this.#fault(path, `has ${quote(stray)}; a condition on a segment is {segment}`);
    const { inside, counts } = this.#reading;
    const found = typeof segment === 'string' ? this.#declared.segments.get(segment.toLowerCase()) : undefined;
    if (!found) return this.#fault(path, `refers to the segment ${quote(segment)}, which this team does not have`);
    const report = this.#reading.reportOutside ?? ((message: string) => this.#fault(path, message));
    const chain = [...inside, found].map(({ name }) => quote(name)).join(', which names ');
    if (inside.some(({ id }) => id === found.id))
      return report(`leads to a cycle of segments: ${chain}; a segment cannot contain itself`);
    if (inside.length >= SEGMENT_DEPTH_MAX)
      return report(`names segments too deep: ${chain}; at most ${SEGMENT_DEPTH_MAX} may name each other`);
    const member: ReadFilter = { kind: 'member', segmentId: found.id };
    if (found.filter === null) return member;
    const properties = this.#declared.properties.filter(({ key }) => !found.lostProperties.has(key));
    const reading = { faults: [], counts, inside: [...inside, found], reportOutside: report };
    const read = new Reader({ ...this.#declared, properties }, reading).read(found.filter, path, 1);
    return found.hasMembers ? { kind: 'any', of: [read, member] } : read;
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
    this.#reading.faults.push({ path, message: `${path} ${message}.` });
    return UNKNOWN;
  }
}

const findStray = (fields: Fields, known: readonly string[]): string | undefined =>
  Object.keys(fields).find((name) => !known.includes(name));

const isEngagement = (name: unknown): name is EngagementKind => (ENGAGEMENTS as readonly unknown[]).includes(name);

const isLink = (link: unknown): link is string =>
  typeof link === 'string' && link !== '' && link.length <= LINK_CHARS_MAX && link.isWellFormed();

const wrongDays = (days: unknown): string =>
  `has within_days ${quote(days)}; it takes a whole number of days from 1 to ${DAYS_MAX}`;

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

interface Written {
  op: string;
  value: unknown;
  now: number;
}

function parseCondition(field: Field, { op, value, now }: Written): Made {
  if (field.type === 'date') return parseCreated(op as 'gt', value, now);
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

const RELATIVE = /^now-(\d+)d$/;

function parseCreated(op: 'gt' | 'gte' | 'lt' | 'lte', value: unknown, now: number): Made {
  const [, days] = (typeof value === 'string' && RELATIVE.exec(value)) || [];
  if (days !== undefined) {
    const isDays = Number(days) >= 1 && Number(days) <= DAYS_MAX;
    return isDays
      ? { kind: 'created', op, ms: now - Number(days) * DAY_MS }
      : { fault: `takes now-1d to now-${DAYS_MAX}d` };
  }
  const time = typeof value === 'string' ? parseIsoTime(value) : undefined;
  if (!time) return { fault: 'takes an ISO 8601 date or time such as 2027-01-31T12:00:00Z, or a time such as now-7d' };
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
