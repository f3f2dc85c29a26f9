import type { World } from '../../../platform/world/index.ts';
import { isUnconfirmedCopy } from '../../../tenancy/instance/index.ts';
import { removeFileRows } from '../../../mail/contents/index.ts';
import { importsWithOldFile, noteFileRemoved } from '../contact-imports/index.ts';

const KEPT_MS = 7 * 24 * 3_600_000;
const BATCH = 100;

/** Seven days after its end the file of an import goes, and what its failed rows said; counts and reasons stay. */
export async function removeImportFiles(world: World): Promise<void> {
  // They are the files of the original as well, and go once the copy is confirmed.
  if (await isUnconfirmedCopy(world)) return;
  for (;;) {
    const ids = await importsWithOldFile(world.db, world.clock.now() - KEPT_MS, BATCH);
    for (const id of ids) {
      await world.blobs.remove(id);
      await world.db.tx(async (tx) => {
        await removeFileRows(tx, [id]);
        await noteFileRemoved(tx, id, world.clock.now());
      });
    }
    if (ids.length < BATCH) return;
  }
}
