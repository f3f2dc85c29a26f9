import type { CreateContactPropertyRequest } from '../../../contract/index.ts';
import { isUniqueViolation } from '../../../platform/db/index.ts';
import { refuse } from '../../../platform/refusal/index.ts';
import { ID_LISTS } from '../../../protocol/csv/index.ts';
import { lockTeam, type Ctx } from '../../../tenancy/access/index.ts';
import { countProperties, insertProperty } from './contact-properties.store.ts';
import { readFallback } from './read-fallback.ts';

/** Each of them is read with every contact and every segment of the team. */
export const PROPERTIES_MAX = 200;

/** What a broadcast prints by itself, and the columns of an export: a property of that name could not be told from them. */
const BUILT_IN: ReadonlySet<string> = new Set([
  ...['first_name', 'last_name', 'email', 'unsubscribe_url', 'preferences_url', 'unsubscribed'],
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
      const [key_folded, created_at] = [key.toLowerCase(), store.clock.now()];
      await insertProperty(tx, { id, team_id: teamId, key, key_folded, type, fallback_value: fallback, created_at });
    });
  } catch (error) {
    if (isUniqueViolation(error)) throw keyTaken(key);
    throw error;
  }
  return { object: 'contact_property' as const, id };
}

export const keyTaken = (key: string) =>
  refuse('invalid_parameter', {
    say: `key ${JSON.stringify(key)} is declared already, perhaps in another letter case; choose another one.`,
  });

export const tooMany = () =>
  refuse('validation_error', { status: 422, say: `A team may declare at most ${PROPERTIES_MAX} properties.` });

export function mustBeOwnKey(key: string): void {
  // No object of JavaScript keeps a value under it, so that a reader would not find it there.
  if (key.toLowerCase() === '__proto__') {
    throw refuse('invalid_parameter', { say: `key ${JSON.stringify(key)} is reserved; choose another one.` });
  }
  if (!BUILT_IN.has(key.toLowerCase())) return;
  throw refuse('invalid_parameter', {
    say: `key ${JSON.stringify(key)} is a field of every contact, a merge variable or a column of exports; choose another one.`,
  });
}
