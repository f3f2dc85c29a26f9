import { nextTurn } from '../../platform/clock/index.ts';
import { pageOf, type Page } from '../../platform/db/index.ts';
import { firstIdAt } from '../../platform/ids/index.ts';
import { refuse } from '../../platform/refusal/index.ts';
import type { Store } from '../../platform/store/index.ts';
import {
  emailAfter,
  emailsBetween,
  taggedAfter,
  taggedBetween,
  type EmailRow,
  type EmailRowFilter,
  type IdRange,
} from './emails.store.ts';
import { blocksToLookAt, indexedTo, type BlockSearch } from './search-blocks.store.ts';
import { gramOfTeam, gramsToFind } from './search-grams.ts';
import { latest, stretchesToLookAt, type Stretch } from './search-stretches.ts';
import { foldForSearch } from './search-text.ts';

type Order = 'desc' | 'asc';

/** What one page may look at: a page that has found something ends there, one that has not is refused. */
const EMAILS_LOOKED_AT_MAX = 100_000;

const lines = new WeakMap<Store, Map<string, Promise<unknown>>>();

/** A team's searches wait for one another, so that ten of them hold up others no longer than one. */
function inLine<Answer>(store: Store, teamId: string, work: () => Promise<Answer>): Promise<Answer> {
  const line = lines.get(store) ?? new Map<string, Promise<unknown>>();
  lines.set(store, line);
  const turn = (line.get(teamId) ?? Promise.resolve()).then(work);
  const done = turn.catch(() => undefined).finally(() => line.get(teamId) === done && line.delete(teamId));
  line.set(teamId, done);
  return turn;
}

/** Reads the emails that a search finds, newest first. */
export function searchEmails(
  store: Store,
  teamId: string,
  filter: EmailRowFilter & { search: string },
  page: Page,
): Promise<{ rows: EmailRow[]; hasMore: boolean }> {
  const order = orderOf(page);
  return inLine(store, teamId, () =>
    readStretches(page, stretchesOf(store, teamId, filter, page, order), {
      filter: 'search',
      advice: 'search for more letters',
      read: (range, limit) => emailsBetween(store.db, teamId, filter, { ...range, order, limit }),
    }),
  );
}

/** Reads the emails with a tag, newest first, past those that the rest of the filter keeps out. */
export function listTaggedEmails(
  store: Store,
  teamId: string,
  filter: EmailRowFilter & { tag: string },
  page: Page,
): Promise<{ rows: EmailRow[]; hasMore: boolean }> {
  const order = orderOf(page);
  const tagged = {
    indexedTo: () => Promise.resolve(undefined),
    blocksToLookAt: () => Promise.resolve([]),
    emailAfter: (range: Parameters<typeof emailAfter>[2]) => taggedAfter(store.db, teamId, filter.tag, range),
  };
  return inLine(store, teamId, () =>
    readStretches(page, stretchesToLookAt(tagged, edgesOf(filter, page), order), {
      filter: 'tag',
      advice: 'leave out another filter',
      read: (range, limit) => taggedBetween(store.db, teamId, filter, { ...range, order, limit }),
    }),
  );
}

const orderOf = (page: Page): Order => (page.before === undefined ? 'desc' : 'asc');

interface Reading {
  filter: 'search' | 'tag';
  advice: string;
  read(range: IdRange, limit: number): Promise<EmailRow[]>;
}

/** Reads stretches until the page is full, and no more emails than a page may look at. */
async function readStretches(
  page: Page,
  stretches: AsyncGenerator<Stretch>,
  { filter, advice, read }: Reading,
): Promise<{ rows: EmailRow[]; hasMore: boolean }> {
  const rows: EmailRow[] = [];
  let lookedAt = 0;
  for await (const { range, emails } of stretches) {
    rows.push(...(await read(range, page.limit + 1 - rows.length)));
    if (rows.length > page.limit) break;
    lookedAt += emails;
    if (lookedAt >= EMAILS_LOOKED_AT_MAX) {
      if (rows.length === 0) {
        throw refuse('invalid_parameter', {
          say: `${filter} has looked at ${lookedAt} emails and found none; narrow it with start_date and end_date, or ${advice}.`,
        });
      }
      return { rows: pageOf(rows, page).rows, hasMore: true };
    }
    await nextTurn();
  }
  return pageOf(rows, page);
}

/** The edges of the page and of the filter. */
function edgesOf(filter: EmailRowFilter, page: Page): { above: string | undefined; below: string | undefined } {
  // The first id of a millisecond is given to no email, so that nothing is left out by beginning above it.
  const above = latest(page.before, filter.createdFrom === undefined ? undefined : firstIdAt(filter.createdFrom));
  const latestId = filter.createdTo === undefined ? undefined : firstIdAt(filter.createdTo + 1);
  const below =
    page.after !== undefined && latestId !== undefined && page.after > latestId ? latestId : (page.after ?? latestId);
  return { above, below };
}

/** What lies between the edges of the page and of the filter, and what stands in every block that may hold it. */
function stretchesOf(
  { db }: Store,
  teamId: string,
  filter: EmailRowFilter & { search: string },
  page: Page,
  order: Order,
): AsyncGenerator<Stretch> {
  const grams = [gramOfTeam(teamId), ...gramsToFind(foldForSearch(filter.search).toWellFormed())];
  const searched = {
    indexedTo: () => indexedTo(db, teamId),
    blocksToLookAt: (search: Omit<BlockSearch, 'teamId' | 'grams'>) => blocksToLookAt(db, { teamId, grams, ...search }),
    emailAfter: (range: Parameters<typeof emailAfter>[2]) => emailAfter(db, teamId, range),
  };
  return stretchesToLookAt(searched, edgesOf(filter, page), order);
}
