import { nextTurn } from '../../platform/clock/index.ts';
import { firstIdAt } from '../../platform/ids/index.ts';
import type { Store } from '../../platform/store/index.ts';
import { listTeams } from '../../tenancy/teams/index.ts';
import { emailAfter, oldestEmail, searchTextsAfter } from './emails.store.ts';
import { indexedTo, insertBlock, removeBlocksBefore } from './search-blocks.store.ts';
import { addGrams, gramOfTeam } from './search-grams.ts';

/** So few that a block is looked at in a fraction of a millisecond, so many that there are few blocks. */
export const EMAILS_A_BLOCK = 256;
/** An id is made before its commit: within this time every email that has one stands in the table. */
const SETTLED_MS = 60_000;
/** Of one run, which comes every minute: a hundred thousand emails. */
const BLOCKS_A_RUN = 400;

/**
 * Puts emails into blocks for the search, behind their acceptance and in turns between teams; what is in no block yet is
 * searched as it stands. Removes blocks whose emails are gone. A power cut that takes a block back makes it be written again.
 */
export async function indexEmails(store: Store): Promise<number> {
  let teams = (await listTeams(store.db)).map((team) => team.id);
  for (const teamId of teams) {
    const oldestId = await oldestEmail(store.db, teamId);
    await store.db.txUnsynced((tx) => removeBlocksBefore(tx, teamId, oldestId, BLOCKS_A_RUN));
    await nextTurn();
  }
  let blocks = 0;
  while (teams.length > 0 && blocks < BLOCKS_A_RUN) {
    const withMore: string[] = [];
    for (const teamId of teams) {
      if (!(await indexBlock(store, teamId))) continue;
      blocks++;
      withMore.push(teamId);
      await nextTurn();
    }
    teams = withMore;
  }
  return blocks;
}

/** Answers whether there were enough emails for a block. */
async function indexBlock(store: Store, teamId: string): Promise<boolean> {
  const { db, clock } = store;
  const above = await indexedTo(db, teamId);
  const below = firstIdAt(clock.now() - SETTLED_MS);
  const last = await emailAfter(db, teamId, { above, below, order: 'asc', skip: EMAILS_A_BLOCK - 1 });
  if (last === undefined) return false;
  const rows = await searchTextsAfter(db, teamId, above, EMAILS_A_BLOCK);
  const [first] = rows;
  if (!first) return false;
  const grams = new Set([gramOfTeam(teamId)]);
  for (const row of rows) for (const field of row.search_text.split('\n')) addGrams(field, grams);
  await db.txUnsynced((tx) => insertBlock(tx, teamId, { first_id: first.id, last_id: last }, grams));
  return true;
}
