import { isUuid } from '../../platform/ids/index.ts';
import type { World } from '../../platform/world/index.ts';
import { emailRowsByIds } from '../../resources/emails/index.ts';
import { playgroundOwners } from '../playground/index.ts';

const AGE_MS = 24 * 3_600_000;
const BATCH = 200;

/** Blobs are written before the commit that needs them; those whose commit never came have no row. */
export async function removeOrphanBlobs(world: World): Promise<number> {
  let removed = 0;
  let batch: string[] = [];
  const flush = async (): Promise<void> => {
    if (batch.length === 0) return;
    const kept = new Set((await emailRowsByIds(world.db, batch)).map((row) => row.id));
    for (const id of await playgroundOwners(world.db, batch)) kept.add(id);
    for (const owner of batch.filter((id) => !kept.has(id))) {
      await world.blobs.remove(owner);
      removed++;
    }
    batch = [];
  };
  for await (const owner of world.blobs.owners(world.clock.now() - AGE_MS)) {
    if (!isUuid(owner)) continue;
    batch.push(owner);
    if (batch.length >= BATCH) await flush();
  }
  await flush();
  return removed;
}
