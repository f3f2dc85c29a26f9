import { isUuid } from '../../../platform/ids.ts';
import { refuse } from '../../../platform/refusal.ts';
import type { Store } from '../../../platform/store.ts';
import { importsWithFileAmong } from '../../audience/index.ts';
import { emailRowsByIds } from '../../../mail/emails/index.ts';
import { imagesAmong } from '../../templates/index.ts';
import { inboxDraftsAmong } from '../../inbox/index.ts';
import { loadInstallationId, isUnconfirmedCopy } from '../../../tenancy/instance/index.ts';
import { receivedIdsAmong } from '../../../mail/received-emails/index.ts';
import { capturedBlobOwners } from '../../../mail/capture/index.ts';

const AGE_MS = 24 * 3_600_000;
const BATCH = 200;
/** A crash leaves a few orphans; more than both of these means that these blobs were written for another database. */
const UNASKED_MAX = 100;
const UNASKED_SHARE_MAX = 0.05;
/** Most blobs being orphans means the same, unless there are next to none: only large content is stored in files. */
const UNASKED_ALWAYS = 10;
/** Bounds the memory; more orphans wait for the next sweep. */
const ORPHANS_MAX = 100_000;

export interface BlobSweep {
  /** Owners whose blobs are older than a day. */
  looked: number;
  /** Owners that have no row. */
  orphans: number;
  removed: number;
}

/** Removes blobs without a row: blobs are written before the commit that needs them, which may never have happened. */
export async function removeOrphanBlobs(store: Store): Promise<number> {
  // The original may use the same place for its blobs, with newer mail.
  if (await isUnconfirmedCopy(store)) return 0;
  const { looked, owners } = await findOrphans(store);
  const isMany = owners.length > Math.max(UNASKED_MAX, looked * UNASKED_SHARE_MAX);
  if (isMany || owners.length > Math.max(UNASKED_ALWAYS, looked / 2)) {
    store.log.error(
      { looked, orphans: owners.length },
      'no blobs were removed: more of them belong to no email than a crash leaves; if this is the right database, run: rasket sweep --yes',
    );
    return 0;
  }
  return removeAll(store, owners);
}

/** Runs the same sweep on request of the operator: removes any number of orphans, or only counts them. */
export async function sweepBlobs(store: Store, { remove }: { remove: boolean }): Promise<BlobSweep> {
  if (remove && (await isUnconfirmedCopy(store)))
    throw refuse('validation_error', {
      status: 422,
      say: 'This is a restored copy, and its original may use the same store for content, so nothing is removed. Confirm that the original no longer sends, with: rasket sending on',
    });
  const { looked, owners } = await findOrphans(store);
  return { looked, orphans: owners.length, removed: remove ? await removeAll(store, owners) : 0 };
}

async function findOrphans(store: Store): Promise<{ looked: number; owners: string[] }> {
  // Checked each time: a folder may have been mounted over, or replaced, since the start.
  await loadInstallationId(store);
  const owners: string[] = [];
  let looked = 0;
  let batch: string[] = [];
  const look = async (): Promise<void> => {
    const kept = new Set((await emailRowsByIds(store.db, batch)).map((row) => row.id));
    for (const id of await capturedBlobOwners(store.db, batch)) kept.add(id);
    for (const id of await receivedIdsAmong(store.db, batch)) kept.add(id);
    for (const id of await importsWithFileAmong(store.db, batch)) kept.add(id);
    for (const id of await imagesAmong(store.db, batch)) kept.add(id);
    for (const id of await inboxDraftsAmong(store.db, batch)) kept.add(id);
    owners.push(...batch.filter((id) => !kept.has(id)));
    looked += batch.length;
    batch = [];
  };
  for await (const owner of store.blobs.owners(store.clock.now() - AGE_MS)) {
    if (!isUuid(owner)) continue;
    batch.push(owner);
    if (batch.length >= BATCH) await look();
    if (owners.length >= ORPHANS_MAX) break;
  }
  if (batch.length > 0) await look();
  return { looked, owners };
}

async function removeAll(store: Store, owners: readonly string[]): Promise<number> {
  for (const owner of owners) await store.blobs.remove(owner);
  return owners.length;
}
