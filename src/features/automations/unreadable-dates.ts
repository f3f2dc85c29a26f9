import { nextTurn } from '../../platform/clock.ts';
import type { Executor } from '../../platform/db/index.ts';
import { readDate } from '../../protocol/written-date.ts';
import { countWithTexts, declaredProperties, textsAfter } from '../audience/index.ts';
import type { AutomationRow } from './automations.store.ts';

const TEXTS_AT_ONCE = 500;
/** All dates of 150 years in the form that is read, and some thousands of others. */
const TEXTS_MAX = 60_000;
const EXAMPLES = 3;

export interface UnreadableDates {
  property: string;
  contacts: number;
  examples: string[];
}

/**
 * Counts the contacts whose date starts no run because it cannot be read; null if no dates start the automation. Reads
 * each text once, and no more than a property that has dates would have.
 */
export async function countUnreadableDates(
  db: Executor,
  { team_id: teamId, trigger_property_id: propertyId }: Pick<AutomationRow, 'team_id' | 'trigger_property_id'>,
): Promise<UnreadableDates | null> {
  const property =
    propertyId === null ? undefined : (await declaredProperties(db, teamId)).find(({ id }) => id === propertyId);
  if (!property) return null;
  let contacts = 0;
  const examples: string[] = [];
  for (let after = '', read = 0; read < TEXTS_MAX; read += TEXTS_AT_ONCE) {
    const texts = await textsAfter(db, property.id, { after, limit: TEXTS_AT_ONCE });
    const unreadable = texts.filter((text) => readDate(text) === undefined);
    if (unreadable.length > 0) contacts += await countWithTexts(db, property.id, unreadable);
    examples.push(...unreadable.slice(0, EXAMPLES - examples.length));
    after = texts.at(-1) ?? '';
    if (texts.length < TEXTS_AT_ONCE) break;
    await nextTurn();
  }
  return { property: property.key, contacts, examples: examples.map((text) => text.slice(0, 60)) };
}

/** Describes contacts whose date cannot be read, in a sentence. */
export const describeUnreadable = ({ property, contacts, examples }: UnreadableDates): string =>
  `${contacts} ${contacts === 1 ? 'contact has' : 'contacts have'} a ${property} that is no date as YYYY-MM-DD or MM-DD, such as ${examples.map((text) => JSON.stringify(text)).join(', ')}; it starts no run.`;
