import { nextTurn } from '../../platform/clock.ts';
import { cutPage, type Page } from '../../platform/db/index.ts';
import { firstIdAt } from '../../platform/ids.ts';
import { refuse } from '../../platform/refusal.ts';
import type { Store } from '../../platform/store.ts';
import {
  emailAfter,
  emailsBetween,
  taggedAfter,
  taggedBetween,
  oldestEmail,
  searchTextsAfter,
  type EmailRow,
  type EmailRowFilter,
  type IdRange,
} from './emails.store.ts';
import {
  listBlocksToSearch,
  indexedTo,
  insertBlock,
  removeBlocksBefore,
  type BlockSearch,
  type SearchBlock,
} from './search-blocks.store.ts';
import { gramOfTeam, gramsToFind, foldForSearch, addGrams } from './search-text.ts';
import { listTeams } from '../../tenancy/teams/index.ts';

/** So few that a block is searched in a fraction of a millisecond, so many that there are few blocks. */
export const EMAILS_A_BLOCK = 256;
/** An id is made before its commit: after this time every email with an id is in the table. */
const SETTLED_MS = 60_000;
/** Limit of one run, which comes every minute: a hundred thousand emails. */
const BLOCKS_A_RUN = 400;

/**
 * Puts emails into blocks for the search, after their acceptance and with teams taking turns; emails in no block yet
 * are searched directly. Removes blocks whose emails are gone. A block that a power cut undoes is written again.
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

/** Returns false if there were too few emails for a block. */
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

type Order = 'desc' | 'asc';

/** Emails searched in one statement, in less than a millisecond: other work runs in between. */
const EMAILS_AT_ONCE = 1000;
const BLOCKS_AT_ONCE = 32;

/** A set of emails to search, with their blocks. */
export interface Searched {
  /** Returns the last email that is in a block. */
  indexedTo(): Promise<string | undefined>;
  listBlocks(search: {
    order: Order;
    above: string | undefined;
    below: string | undefined;
    seen: number | undefined;
    limit: number;
  }): Promise<SearchBlock[]>;
  /** Returns the id that comes after `skip` others of the range. */
  emailAfter(range: IdRange & { order: Order; skip: number }): Promise<string | undefined>;
}

interface Stretch {
  range: IdRange;
  /** Upper bound of the number of emails in it. */
  emails: number;
}

/**
 * Yields stretches in the order of the page: emails in no block yet, piece by piece, and the blocks that may contain a
 * match.
 */
export async function* listStretches(
  searched: Searched,
  { above, below }: { above: string | undefined; below: string | undefined },
  order: Order,
): AsyncGenerator<Stretch> {
  const mark = await searched.indexedTo();
  const newest = () => readPieces(searched, { above: latest(above, mark), below }, order);
  if (order === 'desc') yield* newest();
  if (mark !== undefined && (above === undefined || above < mark)) {
    let seen: number | undefined;
    for (;;) {
      const blocks = await searched.listBlocks({ order, above, below, seen, limit: BLOCKS_AT_ONCE });
      for (const block of blocks) {
        seen = block.id;
        yield { range: { from: block.first_id, to: block.last_id, above, below }, emails: EMAILS_A_BLOCK };
      }
      if (blocks.length < BLOCKS_AT_ONCE) break;
      await nextTurn();
    }
  }
  if (order === 'asc') yield* newest();
}

async function* readPieces(
  searched: Searched,
  whole: { above: string | undefined; below: string | undefined },
  order: Order,
): AsyncGenerator<Stretch> {
  let { above, below } = whole;
  for (;;) {
    const edge = await searched.emailAfter({ above, below, order, skip: EMAILS_AT_ONCE - 1 });
    const piece = edge === undefined ? {} : order === 'desc' ? { from: edge } : { to: edge };
    yield { range: { above, below, ...piece }, emails: EMAILS_AT_ONCE };
    if (edge === undefined) return;
    if (order === 'desc') below = edge;
    else above = edge;
  }
}

const latest = (a: string | undefined, b: string | undefined): string | undefined =>
  a === undefined || (b !== undefined && b > a) ? b : a;

/** Emails that one page may search: a page that has found something ends there, one that has not is refused. */
const EMAILS_LOOKED_AT_MAX = 100_000;

const lines = new WeakMap<Store, Map<string, Promise<unknown>>>();

/** Runs a team's searches one after the other, so that ten of them delay others no longer than one. */
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
  const order = toOrder(page);
  return inLine(store, teamId, () =>
    readStretches(page, findStretches(store, teamId, filter, page, order), {
      filter: 'search',
      advice: 'search for a longer text',
      read: (range, limit) => emailsBetween(store.db, teamId, filter, { ...range, order, limit }),
    }),
  );
}

/** Lists the emails with a tag, newest first, that match the remaining filter. */
export function listTaggedEmails(
  store: Store,
  teamId: string,
  filter: EmailRowFilter & { tag: string },
  page: Page,
): Promise<{ rows: EmailRow[]; hasMore: boolean }> {
  const order = toOrder(page);
  const tagged = {
    indexedTo: () => Promise.resolve(undefined),
    listBlocks: () => Promise.resolve([]),
    emailAfter: (range: Parameters<typeof emailAfter>[2]) => taggedAfter(store.db, teamId, filter.tag, range),
  };
  return inLine(store, teamId, () =>
    readStretches(page, listStretches(tagged, computeEdges(filter, page), order), {
      filter: 'tag',
      advice: 'omit another filter',
      read: (range, limit) => taggedBetween(store.db, teamId, filter, { ...range, order, limit }),
    }),
  );
}

const toOrder = (page: Page): Order => (page.before === undefined ? 'desc' : 'asc');

interface Reading {
  filter: 'search' | 'tag';
  advice: string;
  read(range: IdRange, limit: number): Promise<EmailRow[]>;
}

/** Reads stretches until the page is full, and no more emails than a page may search. */
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
          say: `${filter} has checked ${lookedAt} emails without a match; narrow it with start_date and end_date, or ${advice}.`,
        });
      }
      return { rows: cutPage(rows, page).rows, hasMore: true };
    }
    await nextTurn();
  }
  return cutPage(rows, page);
}

/** Returns the edges of the page and of the filter. */
function computeEdges(filter: EmailRowFilter, page: Page): { above: string | undefined; below: string | undefined } {
  // No email has the first id of a millisecond, so that starting above it leaves nothing out.
  const above = latest(page.before, filter.createdFrom === undefined ? undefined : firstIdAt(filter.createdFrom));
  const latestId = filter.createdTo === undefined ? undefined : firstIdAt(filter.createdTo + 1);
  const below =
    page.after !== undefined && latestId !== undefined && page.after > latestId ? latestId : (page.after ?? latestId);
  return { above, below };
}

/** Returns the stretches between the edges of the page and of the filter, and the blocks that may contain a match. */
function findStretches(
  { db }: Store,
  teamId: string,
  filter: EmailRowFilter & { search: string },
  page: Page,
  order: Order,
): AsyncGenerator<Stretch> {
  const grams = [gramOfTeam(teamId), ...gramsToFind(foldForSearch(filter.search).toWellFormed())];
  const searched = {
    indexedTo: () => indexedTo(db, teamId),
    listBlocks: (search: Omit<BlockSearch, 'teamId' | 'grams'>) => listBlocksToSearch(db, { teamId, grams, ...search }),
    emailAfter: (range: Parameters<typeof emailAfter>[2]) => emailAfter(db, teamId, range),
  };
  return listStretches(searched, computeEdges(filter, page), order);
}
