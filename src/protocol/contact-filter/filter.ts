import type { PropertyType, PropertyValue } from './values.ts';

export type Subscription = 'opt_in' | 'opt_out';
export type Comparison = 'eq' | 'neq' | 'gt' | 'gte' | 'lt' | 'lte' | 'in';

/** Where a contact's value stands: a column of its own, or a declared property by its slot. */
export type Place =
  | { of: 'email' | 'first_name' | 'last_name' }
  /** `propertyId` names it in the index, `slot` in the contact's row. */
  | { of: 'property'; propertyId: string; slot: number };

/**
 * One condition that was checked. It is true or false of every contact: without a value nothing but `exists: false` is met,
 * not even `neq`, and `not` turns each answer around.
 */
export type Condition =
  | { kind: 'text'; place: Place; op: 'eq' | 'neq' | 'contains' | 'in'; values: readonly string[] }
  | { kind: 'number'; place: Place; op: Comparison; values: readonly number[] }
  | { kind: 'boolean'; place: Place | { of: 'unsubscribed' }; op: 'eq' | 'neq'; value: boolean }
  | { kind: 'exists'; place: Place; type: PropertyType; wanted: boolean }
  | { kind: 'created'; op: 'gt' | 'gte' | 'lt' | 'lte'; ms: number }
  | { kind: 'topic'; topicId: string; isDefault: boolean; subscription: Subscription }
  /** Was added to the segment, whatever its filter says. */
  | { kind: 'member'; segmentId: string };

/** A checked filter, over conditions that exist. */
export type Filter =
  | Condition
  | { kind: 'all' | 'any' | 'none'; of: readonly Filter[] }
  /** Matches no contact, because what it depends on was deleted or has another type now. */
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

/** What a filter may name. */
export interface Declared {
  properties: readonly DeclaredProperty[];
  topics: readonly DeclaredTopic[];
}

/** One contact as a filter sees it. Texts are folded as they are stored for comparing. */
export interface FilteredContact {
  emailKey: string;
  firstNameKey: string | null;
  lastNameKey: string | null;
  unsubscribed: boolean;
  createdAt: number;
  /** By slot. */
  values: Readonly<Record<string, PropertyValue | undefined>>;
  /** What was decided for it, by topic. */
  topics: Readonly<Record<string, Subscription | undefined>>;
  /** It was added to these. */
  memberOf: ReadonlySet<string>;
}
