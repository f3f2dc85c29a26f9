import { nextTurn } from '../../platform/clock/index.ts';
import { pageOf, type Page } from '../../platform/db/index.ts';
import { firstIdAt } from '../../platform/ids/index.ts';
import { refuse } from '../../platform/refusal/index.ts';
import type { Store } from '../../platform/store/index.ts';
import { emailAfter, emailsBetween, type EmailRow, type EmailRowFilter } from './emails.store.ts';
import { blocksToLookAt, indexedTo, type BlockSearch } from './search-blocks.store.ts';
import { gramOfTeam, gramsToFind } from './search-grams.ts';
import { latest, stretchesToLookAt, type Stretch } from './search-stretches.ts';
import { foldForSearch } from './search-text.ts';

type Order = 'desc' | 'asc';

/** What one page may look at: a page that has found something ends there, one that has not is refused. */
const EMAILS_LOOKED_AT_MAX = 100_000;

const lines = new WeakMap<Store, Map<string, Promise<unknown>>>();

/** A team's searches wait for one another, so that ten of them hold up others no longer than one. */
export async function searchEmails(
  store: Store,
  teamId: string,
  filter: EmailRowFilter & { search: string },
  page: Page,
): Promise<{ rows: EmailRow[]; hasMore: boolean }> {
  const line = lines.get(store) ?? new Map<string, Promise<unknown>>();
  lines.set(store, line);
  const turn = (line.get(teamId) ?? Promise.resolve()).then(() => search(store, teamId, filter, page));
  const done = turn.catch(() => undefined).finally(() => line.get(teamId) === done && line.delete(teamId));
  line.set(teamId, done);
  return turn;
}

async function search(
  store: Store,
  teamId: string,
  filter: EmailRowFilter & { search: string },
  page: Page,
): Promise<{ rows: EmailRow[]; hasMore: boolean }> {
  const order: Order = page.before === undefined ? 'desc' : 'asc';
  const rows: EmailRow[] = [];
  let lookedAt = 0;
  for await (const { range, emails } of stretchesOf(store, teamId, filter, page, order)) {
    rows.push(
      ...(await emailsBetween(store.db, teamId, filter, { ...range, order, limit: page.limit + 1 - rows.length })),
    );
    if (rows.length > page.limit) break;
    lookedAt += emails;
    if (lookedAt >= EMAILS_LOOKED_AT_MAX) {
      if (rows.length === 0) throw tooWide(lookedAt);
      return { rows: pageOf(rows, page).rows, hasMore: true };
    }
    await nextTurn();
  }
  return pageOf(rows, page);
}

const tooWide = (emails: number) =>
  refuse('invalid_parameter', {
    say: `search has looked at ${emails} emails and found none; narrow it with start_date and end_date, or search for more letters.`,
  });

/** The edges of the page and of the filter, and what stands in every block that may hold it. */
function stretchesOf(
  { db }: Store,
  teamId: string,
  filter: EmailRowFilter & { search: string },
  page: Page,
  order: Order,
): AsyncGenerator<Stretch> {
  // The first id of a millisecond is given to no email, so that nothing is left out by beginning above it.
  const above = latest(page.before, filter.createdFrom === undefined ? undefined : firstIdAt(filter.createdFrom));
  const latestId = filter.createdTo === undefined ? undefined : firstIdAt(filter.createdTo + 1);
  const below =
    page.after !== undefined && latestId !== undefined && page.after > latestId ? latestId : (page.after ?? latestId);
  const grams = [gramOfTeam(teamId), ...gramsToFind(foldForSearch(filter.search).toWellFormed())];
  const searched = {
    indexedTo: () => indexedTo(db, teamId),
    blocksToLookAt: (search: Omit<BlockSearch, 'teamId' | 'grams'>) => blocksToLookAt(db, { teamId, grams, ...search }),
    emailAfter: (range: Parameters<typeof emailAfter>[2]) => emailAfter(db, teamId, range),
  };
  return stretchesToLookAt(searched, { above, below }, order);
}
