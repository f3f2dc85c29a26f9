import type { Blobs } from '../../platform/blobs/index.ts';
import { overlaid } from '../../platform/db/index.ts';
import { readCopyMark } from '../../platform/installation-mark/index.ts';
import { nodeIdOf } from '../../platform/process-mark/index.ts';
import type { Store } from '../../platform/store/index.ts';
import { isAway } from './home.ts';
import { createSendSwitch } from './send-switch.ts';

type Copied = Pick<Store, 'db' | 'dataDir'>;

/** Whether this is a restored copy that is not confirmed yet, whose original may have the same place for its blobs. */
export function createCopyCheck({ db, dataDir }: Copied): () => Promise<boolean> {
  const sending = createSendSwitch({ db });
  return async () => readCopyMark(dataDir) !== undefined || (await sending()).isRestored === true;
}

/** Also before a server has started on it, for commands. */
export const isUnconfirmedCopy = async (store: Copied): Promise<boolean> =>
  (await createCopyCheck(store)()) || (await isAway(store, nodeIdOf(store.dataDir)));

/**
 * Blobs of which an unconfirmed copy removes nothing, whatever is deleted there: they are those of the original as well. What no row
 * names any more is left to the nightly sweep, which begins once the copy is confirmed.
 */
export function keptByCopies(blobs: Blobs, store: Copied): Blobs {
  const isCopy = createCopyCheck(store);
  return overlaid<Blobs>(blobs, {
    async remove(owner) {
      if (!(await isCopy())) await blobs.remove(owner);
    },
    async removeKeys(keys) {
      if (!(await isCopy())) await blobs.removeKeys(keys);
    },
  });
}
