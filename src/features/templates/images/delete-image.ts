import { notFound, refuse } from '../../../platform/refusal/index.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import { removeContents } from '../../../mail/contents/index.ts';
import { deleteImageRow, lockImage, usesOf } from './images.store.ts';

const NAMED_MAX = 3;

/** It is served no more from here on. One that mail on its way or in mailboxes shows goes only by `force`. */
export async function deleteImage({ store, teamId }: Ctx, id: string, { force = false }: { force?: boolean }) {
  await store.db.tx(async (tx) => {
    const row = await lockImage(tx, teamId, id);
    if (!row) throw notFound('Image');
    const shownIn = force ? [] : await usesOf(tx, id, NAMED_MAX + 1);
    if (shownIn.length > 0) throw stillShown(shownIn);
    await deleteImageRow(tx, id);
    await removeContents(tx, [id]);
  });
  await store.blobs.remove(id);
  return { object: 'image' as const, id, deleted: true as const };
}

function stillShown(names: readonly string[]) {
  const named = names.slice(0, NAMED_MAX).map((name) => JSON.stringify(name));
  const more = names.length > NAMED_MAX ? ' and more' : '';
  return refuse('resource_locked', {
    say: `Broadcasts that were sent or are on their way show this image: ${named.join(', ')}${more}. Without it their readers see a gap; delete it all the same with force=true.`,
  });
}
