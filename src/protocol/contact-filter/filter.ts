/** The types a team can declare for a contact property. */
export type PropertyType = 'string' | 'number' | 'boolean';
export type PropertyValue = string | number | boolean;

const TEXT_CHARS_MAX = 500;
/** A little below the largest value that PostgreSQL accepts in an index. */
const TEXT_BYTES_MAX = 2000;
/** Both databases keep whole numbers up to here, and any 15 digits, exactly. */
const NUMBER_MAX = 1e15;
const DIGITS = 15;

/** Folds a text for comparison: no letter case and one Unicode form; accents count. */
export const foldText = (text: string): string => text.toLowerCase().normalize('NFC');

export type ValueResult<Value = PropertyValue> = { ok: true; value: Value } | { ok: false; fault: string };

/** The value to store, or a fault phrased to follow the name of the field. */
export function readValue(type: PropertyType, value: unknown): ValueResult {
  if (type === 'string') return readText(value);
  if (type === 'number') return readNumber(value);
  return typeof value === 'boolean' ? { ok: true, value } : { ok: false, fault: 'must be true or false' };
}

function readText(value: unknown): ValueResult<string> {
  if (typeof value !== 'string') return { ok: false, fault: 'must be a string' };
  const isShort = value.length <= TEXT_CHARS_MAX && Buffer.byteLength(foldText(value)) <= TEXT_BYTES_MAX;
  if (!isShort) return { ok: false, fault: `must have at most ${TEXT_CHARS_MAX} characters` };
  return { ok: true, value };
}

export function readNumber(value: unknown): ValueResult<number> {
  if (typeof value !== 'number' || !Number.isFinite(value)) return { ok: false, fault: 'must be a number' };
  if (Math.abs(value) > NUMBER_MAX) return { ok: false, fault: 'must be a number from -10^15 to 10^15' };
  const kept = Number(value.toPrecision(DIGITS));
  return { ok: true, value: Math.abs(kept) < 1 / NUMBER_MAX ? 0 : kept };
}

/** Reports whether a contact matches a filter. It always agrees with the SQL that `renderFilter` produces. */
export function meetsFilter(filter: Filter, contact: FilteredContact): boolean {
  switch (filter.kind) {
    case 'all':
      return filter.of.every((part) => meetsFilter(part, contact));
    case 'any':
      return filter.of.some((part) => meetsFilter(part, contact));
    case 'none':
      return !filter.of.some((part) => meetsFilter(part, contact));
    case 'text':
      return meetsText(filter.op, valueAt(filter.place, contact), filter.values);
    case 'number':
      return meetsNumber(filter.op, valueAt(filter.place, contact), filter.values);
    case 'boolean': {
      const value = filter.place.of === 'unsubscribed' ? contact.unsubscribed : valueAt(filter.place, contact);
      return typeof value === 'boolean' && (value === filter.value) === (filter.op === 'eq');
    }
    case 'exists':
      return (valueAt(filter.place, contact) !== null) === filter.wanted;
    case 'created':
      return compares(filter.op, contact.createdAt, filter.ms);
    case 'topic': {
      const chosen = contact.topics[filter.topicId];
      return chosen === undefined ? filter.isDefault : chosen === filter.subscription;
    }
    case 'member':
      return contact.memberOf.has(filter.segmentId);
    case 'engaged':
      return isSince(contact.engagement[filter.what], filter.since);
    case 'inactive':
      return isInactive(contact.engagement, filter.since);
    case 'recipient': {
      const { broadcastId, what, linkHash } = filter;
      const seen = contact.broadcasts.get(broadcastId);
      return linkHash === null ? seen?.did.has(what) === true : seen?.linkHashes.has(linkHash) === true;
    }
    case 'link':
      return isSince(contact.links.get(filter.linkHash) ?? null, filter.since);
    case 'event':
      return isSince(contact.events.get(filter.eventId) ?? null, filter.since);
    case 'never':
      return false;
  }
}

/** Reports whether something happened, and not before the time, if there is one. */
const isSince = (at: number | null, since: number | null): boolean => at !== null && (since === null || at >= since);

/** Mail began before the time and was sent since then, but nothing was opened or clicked since then. */
const isInactive = ({ firstSent, sent, opened, clicked }: Engagement, since: number): boolean =>
  firstSent !== null &&
  firstSent <= since &&
  isSince(sent, since) &&
  !isSince(opened, since) &&
  !isSince(clicked, since);

function valueAt(place: Place, contact: FilteredContact): PropertyValue | null {
  switch (place.of) {
    case 'email':
      return contact.emailKey;
    case 'first_name':
      return contact.firstNameKey;
    case 'last_name':
      return contact.lastNameKey;
    case 'property':
      return contact.values[String(place.slot)] ?? null;
  }
}

function meetsText(
  op: 'eq' | 'neq' | 'contains' | 'in',
  value: PropertyValue | null,
  wanted: readonly string[],
): boolean {
  if (typeof value !== 'string') return false;
  if (op === 'contains') return wanted.some((part) => value.includes(part));
  return wanted.includes(value) === (op !== 'neq');
}

function meetsNumber(op: Comparison, value: PropertyValue | null, wanted: readonly number[]): boolean {
  if (typeof value !== 'number') return false;
  if (op === 'in' || op === 'eq') return wanted.includes(value);
  if (op === 'neq') return !wanted.includes(value);
  return wanted.every((limit) => compares(op, value, limit));
}

function compares(op: 'gt' | 'gte' | 'lt' | 'lte', value: number, limit: number): boolean {
  if (op === 'gt') return value > limit;
  if (op === 'gte') return value >= limit;
  return op === 'lt' ? value < limit : value <= limit;
}

export type Subscription = 'opt_in' | 'opt_out';

/** What can happen to a mail that was written for a contact. Machines do not open or click. */
export const ENGAGEMENTS = ['sent', 'delivered', 'opened', 'clicked'] as const;
export type EngagementKind = (typeof ENGAGEMENTS)[number];
export type Comparison = 'eq' | 'neq' | 'gt' | 'gte' | 'lt' | 'lte' | 'in';

/** The location of a contact's value: a column of its own, or the slot of a declared property. */
export type Place =
  | { of: 'email' | 'first_name' | 'last_name' }
  /** `propertyId` identifies it in the index, `slot` in the contact's row. */
  | { of: 'property'; propertyId: string; slot: number };

/**
 * One validated condition. It is true or false for every contact: a missing value matches only `exists: false`, not
 * even `neq`, and `not` inverts every result.
 */
export type Condition =
  | { kind: 'text'; place: Place; op: 'eq' | 'neq' | 'contains' | 'in'; values: readonly string[] }
  | { kind: 'number'; place: Place; op: Comparison; values: readonly number[] }
  | { kind: 'boolean'; place: Place | { of: 'unsubscribed' }; op: 'eq' | 'neq'; value: boolean }
  | { kind: 'exists'; place: Place; type: PropertyType; wanted: boolean }
  | { kind: 'created'; op: 'gt' | 'gte' | 'lt' | 'lte'; ms: number }
  | { kind: 'topic'; topicId: string; isDefault: boolean; subscription: Subscription }
  /** The contact was added to the segment, whatever the segment's filter says. */
  | { kind: 'member'; segmentId: string }
  /** It happened to any mail, and last at `since` or later; null stands for any time. */
  | { kind: 'engaged'; what: EngagementKind; since: number | null }
  /** Mail was sent before and after `since`, and nothing was opened or clicked after it. */
  | { kind: 'inactive'; since: number }
  /** It happened to the mail of one broadcast. With a link, the link was clicked in it. */
  | { kind: 'recipient'; broadcastId: string; what: EngagementKind; linkHash: string | null }
  /** The link was clicked in any mail. */
  | { kind: 'link'; linkHash: string; since: number | null }
  /** A custom event was received for the contact. */
  | { kind: 'event'; eventId: string; since: number | null };

/** A validated filter whose conditions all refer to something that exists. */
export type Filter =
  | Condition
  | { kind: 'all' | 'any' | 'none'; of: readonly Filter[] }
  /** Matches no contact, because something it depends on was deleted or has another type now. */
  | { kind: 'never' };

export interface DeclaredProperty {
  id: string;
  key: string;
  type: PropertyType;
  slot: number;
}

export interface DeclaredTopic {
  id: string;
  default_subscription: Subscription;
}

/** A segment that filters may name. */
export interface DeclaredSegment {
  id: string;
  name: string;
  /** The filter as it was written; null if it has none. */
  filter: unknown;
  /** Keys of properties that the filter names and that were deleted since. */
  lostProperties: ReadonlySet<string>;
  /** Contacts were added to it by hand. */
  hasMembers: boolean;
}

/** What a filter may name. Of broadcasts, events and segments only those that the filters at hand name are known. */
export interface Declared {
  properties: readonly DeclaredProperty[];
  topics: readonly DeclaredTopic[];
  /** The ids of broadcasts. */
  broadcasts: ReadonlySet<string>;
  /** The ids of custom events by their names. */
  events: ReadonlyMap<string, string>;
  segments: ReadonlyMap<string, DeclaredSegment>;
  /** The time from which relative times are counted. */
  now: number;
}

/** When something last happened to mail that was written for a contact, and when the first of it was sent. */
export type Engagement = Readonly<Record<EngagementKind | 'firstSent', number | null>>;

/** What the report of a broadcast has about a contact. */
export interface SeenRecipient {
  did: ReadonlySet<EngagementKind>;
  /** The links that the contact clicked, of those that filters name. */
  linkHashes: ReadonlySet<string>;
}

/** One contact as a filter sees it. Texts are folded as they are stored for comparison. */
export interface FilteredContact {
  emailKey: string;
  firstNameKey: string | null;
  lastNameKey: string | null;
  unsubscribed: boolean;
  createdAt: number;
  /** Property values by slot. */
  values: Readonly<Record<string, PropertyValue | undefined>>;
  /** The subscription decision by topic. */
  topics: Readonly<Record<string, Subscription | undefined>>;
  /** The segments the contact was added to. */
  memberOf: ReadonlySet<string>;
  engagement: Engagement;
  /** By broadcast, for the broadcasts that filters name. */
  broadcasts: ReadonlyMap<string, SeenRecipient>;
  /** The last click by the hash of the link, for the links that filters name. */
  links: ReadonlyMap<string, number>;
  /** When each custom event was last received, by the id of the event, for the events that filters name. */
  events: ReadonlyMap<string, number>;
}

/** What the conditions of filters have to know about a contact in addition to its row, choices and memberships. */
export interface NeededFacts {
  engagement: boolean;
  broadcastIds: Set<string>;
  /** The links that are sought in a broadcast, and those that are sought in any mail. */
  broadcastLinks: Map<string, Set<string>>;
  linkHashes: Set<string>;
  eventIds: Set<string>;
}

/** Lists what these filters have to know about a contact. */
export function listNeededFacts(filters: readonly Filter[]): NeededFacts {
  const needed: NeededFacts = {
    engagement: false,
    broadcastIds: new Set(),
    broadcastLinks: new Map(),
    linkHashes: new Set(),
    eventIds: new Set(),
  };
  for (const filter of filters) visit(filter);
  return needed;

  function visit(filter: Filter): void {
    switch (filter.kind) {
      case 'all':
      case 'any':
      case 'none':
        return filter.of.forEach(visit);
      case 'engaged':
      case 'inactive':
        needed.engagement = true;
        return;
      case 'recipient': {
        needed.broadcastIds.add(filter.broadcastId);
        if (filter.linkHash === null) return;
        const links = needed.broadcastLinks.get(filter.broadcastId) ?? new Set();
        needed.broadcastLinks.set(filter.broadcastId, links.add(filter.linkHash));
        return;
      }
      case 'link':
        needed.linkHashes.add(filter.linkHash);
        return;
      case 'event':
        needed.eventIds.add(filter.eventId);
        return;
      default:
    }
  }
}
