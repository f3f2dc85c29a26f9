import { eraseEvents } from '../../../mail/events/index.ts';
import { nextTurn } from '../../../platform/clock.ts';
import type { Store } from '../../../platform/store.ts';
import {
  deleteExpiredAnswering,
  lockThread,
  removeDeletedRows,
  removeThreadRows,
  trashedThreads,
  updateThreadRow,
  wakingThreads,
} from '../../inbox/index.ts';
import { isUnconfirmedCopy } from '../../../tenancy/instance/index.ts';

const TRASH_DAYS = 30;
const DAY_MS = 86_400_000;
/** Rows per transaction, so that mail waits for none of them longer than milliseconds. */
const BATCH = 100;
const BATCHES_MAX = 50;

export interface KeptInboxes {
  woken: number;
  /** Threads that were in the trash for too long. */
  emptied: number;
  /** Rows of deleted inboxes and labels. */
  removed: number;
}

/**
 * Wakes snoozed threads that are due, empties the trash and removes the rows of deleted inboxes and labels and
 * expired announcements of replies. A run does a part of it; it may be interrupted anywhere, and the next one continues.
 */
export async function keepInboxes(store: Store): Promise<KeptInboxes> {
  const woken = await inBatches(() => wake(store));
  await deleteExpiredAnswering(store.db, store.clock.now());
  // Removal deletes files too, and those of a copy are also the files of the original.
  if (await isUnconfirmedCopy(store)) return { woken, emptied: 0, removed: 0 };
  return {
    woken,
    emptied: await inBatches(() => emptyTrash(store)),
    removed: await inBatches(() => removeDeleted(store)),
  };
}

async function inBatches(work: () => Promise<number>): Promise<number> {
  let done = 0;
  for (let batch = 0; batch < BATCHES_MAX; batch++) {
    const some = await work();
    if (some === 0) break;
    done += some;
    await nextTurn();
  }
  return done;
}

/** Wakes due threads, which come first in their inbox, as if they had just arrived. */
const wake = ({ db, clock, ids }: Store): Promise<number> =>
  db.tx(async (tx) => {
    const threads = await wakingThreads(tx, clock.now(), BATCH);
    for (const thread of threads) {
      await updateThreadRow(tx, thread, { folder: 'inbox', snoozed_until: null, sort_id: ids.uuid() });
    }
    return threads.length;
  });

async function emptyTrash(store: Store): Promise<number> {
  const before = store.clock.now() - TRASH_DAYS * DAY_MS;
  const [thread] = await trashedThreads(store.db, before, 1);
  if (!thread) return 0;
  const files = await store.db.tx(async (tx) => {
    const now = await lockThread(tx, thread.inbox_id, thread.id);
    // A user may have taken it out of the trash, or written to it.
    if (!now || now.trashed_at === null || Number(now.trashed_at) >= before) return [];
    await eraseEvents(tx, thread.team_id, thread.id);
    return removeThreadRows(tx, [thread.id]);
  });
  for (const draft of files) await store.blobs.remove(draft);
  return 1;
}

async function removeDeleted(store: Store): Promise<number> {
  const { rows, files } = await store.db.tx((tx) => removeDeletedRows(tx, BATCH));
  for (const draft of files) await store.blobs.remove(draft);
  return rows;
}
