import type { Comparison, Filter, FilteredContact, Place } from './filter.ts';
import type { PropertyValue } from './values.ts';

/** Whether a contact meets a filter. The answer is that of the SQL which `renderFilter` makes of it. */
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
    case 'never':
      return false;
  }
}

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
