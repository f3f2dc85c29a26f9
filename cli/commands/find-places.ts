import type { Client } from '../client/index.ts';
import { NAMED, namedBy } from '../families/named.ts';
import type { List } from '../families/family.ts';
import { findId } from '../input/find-id.ts';

/** What a filter names by its name is asked for by its id. */
export async function findFilters(client: Client, filters: Record<string, unknown>): Promise<void> {
  for (const [field, given] of Object.entries(filters)) {
    const named = namedBy(field);
    if (named !== undefined && typeof given === 'string') filters[field] = await findId(client, named, given);
  }
}

/** A list shows the ends of ids, and goes on behind or before such a one as it does at a whole one. */
export async function findPlaces<Places extends { after?: string; before?: string }>(
  client: Client,
  { operation }: List,
  path: Readonly<Record<string, string>>,
  places: Places,
): Promise<Places> {
  const [named] = Object.entries(NAMED).find(([, { list }]) => list === operation) ?? [];
  if (named === undefined) return places;
  const found = { ...places };
  for (const place of ['after', 'before'] as const) {
    const given = places[place];
    if (given !== undefined && END.test(given)) found[place] = await findId(client, named, given, { path });
  }
  return found;
}

const END = /^[0-9a-f]{4,12}$/i;
