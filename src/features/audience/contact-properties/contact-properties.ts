import { defineHook } from '../../../platform/hook.ts';
import type { AnswerOf } from '../../../contract/index.ts';
import type { CreateContactPropertyRequest, UpdateContactPropertyRequest } from '../../../contract/index.ts';
import { isUniqueViolation, type Executor, type Page } from '../../../platform/db/index.ts';
import { refuse, notFound } from '../../../platform/refusal.ts';
import { ID_LISTS } from '../../../protocol/csv/index.ts';
import { lockTeam, type Ctx } from '../../../tenancy/access/index.ts';
import {
  countProperties,
  insertProperty,
  findProperty,
  setFallback,
  markDeleted,
  listPropertyRows,
  declaredProperties,
  type PropertyRow,
} from './contact-properties.store.ts';
import { isoTime } from '../../../platform/clock.ts';
import type { Store } from '../../../platform/store.ts';
import { readValue, type PropertyType } from '../../../protocol/contact-filter/index.ts';

/** Limit per team, because all properties are read with every contact and every segment. */
const PROPERTIES_MAX = 200;

/**
 * Built-in merge variables of broadcasts and columns of exports. A property with one of these names would be ambiguous.
 */
const BUILT_IN: ReadonlySet<string> = new Set([
  'first_name',
  'last_name',
  'email',
  'unsubscribe_url',
  'preferences_url',
  'unsubscribed',
  ...ID_LISTS,
]);

export async function createContactProperty(ctx: Ctx, input: CreateContactPropertyRequest) {
  const { store, teamId } = ctx;
  const { key, type } = input;
  mustBeOwnKey(key);
  const fallback = readFallback(type, input.fallback_value ?? null);
  const id = store.ids.uuid();
  try {
    await store.db.tx(async (tx) => {
      await lockTeam(tx, teamId);
      if ((await countProperties(tx, teamId)) >= PROPERTIES_MAX) throw tooMany();
      const key_folded = key.toLowerCase();
      const created_at = store.clock.now();
      await insertProperty(tx, { id, team_id: teamId, key, key_folded, type, fallback_value: fallback, created_at });
    });
  } catch (error) {
    if (isUniqueViolation(error)) throw keyTaken(key);
    throw error;
  }
  return { object: 'contact_property' as const, id };
}

const keyTaken = (key: string) =>
  refuse('invalid_parameter', {
    say: `key ${JSON.stringify(key)} already exists, perhaps in another letter case; choose another key.`,
  });

const tooMany = () =>
  refuse('validation_error', { status: 422, say: `A team may declare at most ${PROPERTIES_MAX} properties.` });

/** Reports whether a property may have this key. */
export const isOwnKey = (key: string): boolean => key.toLowerCase() !== '__proto__' && !BUILT_IN.has(key.toLowerCase());

function mustBeOwnKey(key: string): void {
  // A JavaScript object cannot store a value under this key, so readers would not find it.
  if (key.toLowerCase() === '__proto__') {
    throw refuse('invalid_parameter', { say: `key ${JSON.stringify(key)} is reserved; choose another key.` });
  }
  if (!BUILT_IN.has(key.toLowerCase())) return;
  throw refuse('invalid_parameter', {
    say: `key ${JSON.stringify(key)} is reserved for a contact field, a merge variable or an export column; choose another key.`,
  });
}

export interface WantedProperty {
  key: string;
  /** If undefined, the type the property was declared with, or string. */
  type: PropertyType | undefined;
}

/**
 * Checks that a column map can have these properties: those that are not declared yet can be, and the others have the
 * type that it names. Returns those that are not declared yet.
 */
export function checkDeclarations(
  declared: readonly PropertyRow[],
  wanted: readonly WantedProperty[],
): WantedProperty[] {
  const known = new Map(declared.map((row) => [row.key_folded, row]));
  const missing: WantedProperty[] = [];
  for (const property of wanted) {
    const { key, type } = property;
    const before = known.get(key.toLowerCase());
    if (before && before.key !== key) throw keyTaken(key);
    if (before && type !== undefined && before.type !== type) {
      throw refuse('invalid_parameter', {
        say: `column_map.properties.${key}.type is ${type}, but the property has the type ${before.type}.`,
      });
    }
    if (before) continue;
    mustBeOwnKey(key);
    missing.push(property);
  }
  const twice = missing.find(({ key }, at) => missing.slice(0, at).some((one) => isSameKey(one.key, key)));
  if (twice) throw keyTaken(twice.key);
  if (known.size + missing.length > PROPERTIES_MAX) throw tooMany();
  return missing;
}

const isSameKey = (one: string, other: string): boolean => one.toLowerCase() === other.toLowerCase();

/**
 * Declares the properties in a column map that the team has not declared yet. The transaction must have locked the
 * team.
 */
export async function declareFromImport(
  store: Store,
  tx: Executor,
  teamId: string,
  wanted: readonly WantedProperty[],
): Promise<void> {
  for (const { key, type = 'string' } of checkDeclarations(await declaredProperties(tx, teamId), wanted)) {
    const row = { id: store.ids.uuid(), team_id: teamId, key, key_folded: key.toLowerCase(), type };
    await insertProperty(tx, { ...row, fallback_value: null, created_at: store.clock.now() });
  }
}

export async function getContactProperty({ store, teamId }: Ctx, id: string) {
  const row = await findProperty(store.db, teamId, id);
  if (!row) throw notFound('Contact property');
  return { object: 'contact_property' as const, ...present(row) };
}

export async function listContactProperties({ store, teamId }: Ctx, page: Page) {
  const { rows, hasMore } = await listPropertyRows(store.db, teamId, page);
  return { object: 'list' as const, has_more: hasMore, data: rows.map(present) };
}

function present({ id, key, type, fallback_value: fallback, created_at: at }: PropertyRow) {
  const value = fallback === null ? null : (JSON.parse(fallback) as string | number);
  return { id, key, type, fallback_value: value, created_at: isoTime(at) };
}

/** Returns the ids of the properties whose dates start enabled automations. */
export const findDateProperties =
  defineHook<(db: Executor, teamId: string) => Promise<ReadonlySet<string>>>('findDateProperties');

/** Finds what uses a property: segments whose filter names it, and their broadcasts that are waiting or being sent. */
export const findPropertyUsers = defineHook<
  (
    ctx: Ctx,
    propertyId: string,
  ) => Promise<{
    key: string;
    segments: { id: string; name: string }[];
    broadcasts: Awaited<AnswerOf<'deleteContactProperty'>>['broadcasts'];
  }>
>('findPropertyUsers');

/**
 * Deletes a property. Its values are no longer read from now on: they are stored under its slot, which no other
 * property gets before they are removed. `onDeleted` runs in the same transaction.
 */
export async function deleteContactProperty(
  { store, teamId }: Ctx,
  id: string,
  onDeleted: (tx: Executor) => Promise<void>,
) {
  const isDone = await store.db.tx(async (tx) => {
    if (!(await markDeleted(tx, teamId, id, store.clock.now()))) return false;
    await onDeleted(tx);
    return true;
  });
  if (!isDone) throw notFound('Contact property');
  return { object: 'contact_property' as const, id, deleted: true as const };
}

export async function updateContactProperty({ store, teamId }: Ctx, id: string, input: UpdateContactPropertyRequest) {
  await store.db.tx(async (tx) => {
    const row = await findProperty(tx, teamId, id);
    if (!row) throw notFound('Contact property');
    if (input.fallback_value === undefined) return;
    await setFallback(tx, id, readFallback(row.type, input.fallback_value));
  });
  return { object: 'contact_property' as const, id };
}

/** Reads a fallback into its stored form. */
function readFallback(type: PropertyType, value: string | number | null): string | null {
  if (value === null) return null;
  const read = readValue(type, value);
  if (!read.ok) {
    throw refuse('invalid_parameter', {
      say: `fallback_value ${read.fault}, because the property has the type ${type}.`,
    });
  }
  return JSON.stringify(read.value);
}
