import { invalidField } from '../../../platform/refusal/index.ts';
import { foldText, readValue, type PropertyValue } from '../../../protocol/contact-filter/index.ts';
import type { PropertyRow } from '../contact-properties/index.ts';
import type { ContactRow } from './contacts.store.ts';
import type { IndexedValue } from './values.store.ts';

/** By the slots of properties. */
export type Values = Record<string, PropertyValue | undefined>;

export function valuesOf({ properties }: Pick<ContactRow, 'properties'>): Values {
  if (properties === null) return {};
  return (typeof properties === 'string' ? JSON.parse(properties) : properties) as Values;
}

/** As filters see them. */
export function foldedValuesOf(row: Pick<ContactRow, 'properties' | 'folded'>): Values {
  return { ...valuesOf(row), ...(row.folded === null ? {} : valuesOf({ properties: row.folded })) };
}

/** The two columns that hold values. What is folded stands apart only where it differs. */
export function storedValues(values: Values): { properties: string | null; folded: string | null } {
  const kept = Object.entries(values).filter(([, value]) => value !== undefined && value !== null);
  if (kept.length === 0) return { properties: null, folded: null };
  let isSame = true;
  const folded: Record<string, string> = {};
  for (const [slot, value] of kept) {
    if (typeof value !== 'string') continue;
    const text = foldText(value);
    folded[slot] = text;
    isSame &&= text === value;
  }
  return { properties: JSON.stringify(Object.fromEntries(kept)), folded: isSame ? null : JSON.stringify(folded) };
}

/** What the index of contacts by property holds of these values. */
export function indexedValues(contactId: string, values: Values, declared: readonly PropertyRow[]): IndexedValue[] {
  const entries: IndexedValue[] = [];
  for (const { id: propertyId, slot } of declared) {
    const value = values[slot];
    if (value === undefined || value === null) continue;
    entries.push({ propertyId, contactId, value: typeof value === 'string' ? foldText(value) : Number(value) });
  }
  return entries;
}

export function presentValues(values: Values, declared: readonly PropertyRow[]): Record<string, PropertyValue> {
  const shown: Record<string, PropertyValue> = {};
  for (const { key, slot } of declared.toSorted((a, b) => (a.key < b.key ? -1 : 1))) {
    const value = values[slot];
    if (value !== undefined && value !== null) shown[key] = value;
  }
  return shown;
}

/** Values of a body merged into those that stand; null takes one away. */
export function mergeValues(
  before: Values,
  given: Readonly<Record<string, unknown>>,
  declared: readonly PropertyRow[],
): Values {
  const after: Values = { ...before };
  for (const [key, value] of Object.entries(given)) {
    const property = declared.find((one) => one.key === key);
    if (!property) throw invalidField('properties', unknownKey(key, declared));
    if (value === null) {
      delete after[property.slot];
      continue;
    }
    const read = readValue(property.type, value);
    if (!read.ok) throw invalidField(`properties.${key}`, `properties.${key} ${read.fault}.`);
    after[property.slot] = read.value;
  }
  return after;
}

function unknownKey(key: string, declared: readonly PropertyRow[]): string {
  const near = declared.find((one) => one.key_folded === key.toLowerCase());
  const shown = JSON.stringify(key.slice(0, 60));
  if (near) return `properties has the key ${shown}, which is declared as ${near.key}; letter case counts.`;
  return `properties has the key ${shown}, which is not declared; declare it first.`;
}
