import type { Executor } from '../../../platform/db/index.ts';
import { refuse } from '../../../platform/refusal/index.ts';
import type { Store } from '../../../platform/store/index.ts';
import type { PropertyType } from '../../../protocol/contact-filter/index.ts';
import { declaredProperties, insertProperty } from './contact-properties.store.ts';
import { keyTaken, mustBeOwnKey, PROPERTIES_MAX, tooMany } from './create-contact-property.ts';

export interface WantedProperty {
  key: string;
  /** Where none is said, the type it was declared with, or a string. */
  type: PropertyType | undefined;
}

/** Declares what a column map names and the team has not declared yet, in a transaction that has locked the team. */
export async function declareFromImport(
  store: Store,
  tx: Executor,
  teamId: string,
  wanted: readonly WantedProperty[],
): Promise<void> {
  const known = new Map((await declaredProperties(tx, teamId)).map((row) => [row.key_folded, row]));
  if (known.size + wanted.filter(({ key }) => !known.has(key.toLowerCase())).length > PROPERTIES_MAX) throw tooMany();
  for (const { key, type = 'string' } of wanted) {
    const before = known.get(key.toLowerCase());
    if (before && before.key !== key) throw keyTaken(key);
    if (before) continue;
    mustBeOwnKey(key);
    const row = { id: store.ids.uuid(), team_id: teamId, key, key_folded: key.toLowerCase(), type };
    await insertProperty(tx, { ...row, fallback_value: null, created_at: store.clock.now() });
  }
  for (const { key, type } of wanted) {
    const declared = known.get(key.toLowerCase())?.type ?? type;
    if (type === undefined || declared === type) continue;
    throw refuse('invalid_parameter', {
      say: `column_map.properties.${key}.type is ${type}, and the property is a ${declared}.`,
    });
  }
}
