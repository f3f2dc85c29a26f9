import { nextTurn } from '../../../platform/clock/index.ts';
import type { Store } from '../../../platform/store/index.ts';
import { forgetProperty, nextDeletedProperty } from '../contact-properties/index.ts';
import { removeMembersOfDeleted } from '../segments/index.ts';
import { removeSomeValues } from './values.store.ts';

/** Few enough that what stands in line behind a batch does not notice it. */
const BATCH = 500;
/** A million at a time is a quarter of an hour; everybody has been reading past them since the deletion. */
const BATCHES_MAX = 150;

/** Removes what is left of deleted properties and segments, in small batches. */
export async function clearDeleted(store: Store): Promise<void> {
  for (let batch = 0; batch < BATCHES_MAX; batch++) {
    const isDone = await store.db.tx(async (tx) => {
      const property = await nextDeletedProperty(tx);
      if (!property) return (await removeMembersOfDeleted(tx, BATCH)) === 0;
      if ((await removeSomeValues(tx, property, BATCH)) === 0) await forgetProperty(tx, property.id);
      return false;
    });
    if (isDone) return;
    await nextTurn();
  }
}
