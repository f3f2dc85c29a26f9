import { nextTurn } from '../../../platform/clock/index.ts';
import { firstIdAt } from '../../../platform/ids/index.ts';
import type { Store } from '../../../platform/store/index.ts';
import { addGrams, EMAILS_A_BLOCK, gramOfTeam } from '../../../mail/emails/index.ts';
import {
  allInboxIds,
  inboxEmailAfter,
  inboxIndexedTo,
  inboxTextsAfter,
  insertInboxBlock,
  removeInboxBlocksBefore,
  textsOf,
} from '../inbox-rows/index.ts';

/** An id is made before its commit: within this time every email that has one stands in the table. */
const SETTLED_MS = 60_000;
/** Of one run, which comes every minute: a hundred thousand emails. */
const BLOCKS_A_RUN = 400;

/**
 * Puts the emails of inboxes into blocks for the search, behind their arrival and in turns between inboxes; what is in no block
 * yet is searched as it stands. Removes blocks whose emails are gone.
 */
export async function indexInboxes(store: Store): Promise<number> {
  let inboxes = await allInboxIds(store.db);
  for (const inboxId of inboxes) {
    const oldestId = await inboxEmailAfter(store.db, inboxId, { order: 'asc', skip: 0 });
    await store.db.txUnsynced((tx) => removeInboxBlocksBefore(tx, inboxId, oldestId, BLOCKS_A_RUN));
    await nextTurn();
  }
  let blocks = 0;
  while (inboxes.length > 0 && blocks < BLOCKS_A_RUN) {
    const withMore: string[] = [];
    for (const inboxId of inboxes) {
      if (!(await indexBlock(store, inboxId))) continue;
      blocks++;
      withMore.push(inboxId);
      await nextTurn();
    }
    inboxes = withMore;
  }
  return blocks;
}

/** Answers whether there were enough emails for a block. */
async function indexBlock({ db, clock }: Store, inboxId: string): Promise<boolean> {
  const above = await inboxIndexedTo(db, inboxId);
  const below = firstIdAt(clock.now() - SETTLED_MS);
  const last = await inboxEmailAfter(db, inboxId, { above, below, order: 'asc', skip: EMAILS_A_BLOCK - 1 });
  if (last === undefined) return false;
  const rows = await inboxTextsAfter(db, inboxId, above, EMAILS_A_BLOCK);
  const [first] = rows;
  if (!first) return false;
  const grams = new Set([gramOfTeam(inboxId)]);
  for (const row of rows) for (const text of textsOf(row)) addGrams(text, grams);
  await db.txUnsynced((tx) => insertInboxBlock(tx, inboxId, { first_id: first.email_id, last_id: last }, grams));
  return true;
}
