import type { Store } from '../../../platform/store.ts';
import { removeFileRows } from '../../../mail/contents/index.ts';
import { noteFileRemoved } from './contact-imports.store.ts';

/** Returns the key of an import's file. */
export const importBlob = (id: string): string => `${id}/file.csv`;

/** Removes the file of an import that has ended, and the values of its failed rows; counts and reasons remain. */
export async function removeImportFile({ blobs, db, clock }: Store, id: string): Promise<void> {
  await blobs.remove(id);
  await db.tx(async (tx) => {
    await removeFileRows(tx, [id]);
    await noteFileRemoved(tx, id, clock.now());
  });
}
