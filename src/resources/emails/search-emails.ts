import { nextTurn } from '../../platform/clock/index.ts';
import { pageOf, type Page } from '../../platform/db/index.ts';
import { firstIdAt } from '../../platform/ids/index.ts';
import { refuse } from '../../platform/refusal/index.ts';
import type { Store } from '../../platform/store/index.ts';
import { emailAfter, emailsBetween, type EmailRow, type EmailRowFilter, type IdRange } from './emails.store.ts';
import { EMAILS_A_BLOCK } from './index-emails.ts';
import { blocksToLookAt, indexedTo } from './search-blocks.store.ts';
import { gramOfTeam, gramsToFind } from './search-grams.ts';
import { foldForSearch } from './search-text.ts';

type Order = 'desc' | 'asc';

/** Looked at in one statement, in less than a millisecond: whatever else is waiting comes in between. */
const EMAILS_AT_ONCE = 1000;
const BLOCKS_AT_ONCE = 32;
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
  for await (const { range, emails } of rangesToLookAt(store, teamId, filter, page, order)) {
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

interface Stretch {
  range: IdRange;
  /** How many emails it holds at the most. */
  emails: number;
}

/** In the order of the page: what is in no block yet, piece by piece, and the blocks that may hold it. */
async function* rangesToLookAt(
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
  const mark = await indexedTo(db, teamId);
  const grams = [gramOfTeam(teamId), ...gramsToFind(foldForSearch(filter.search).toWellFormed())];
  const newest = () => piecesOf(db, teamId, { above: latest(above, mark), below }, order);
  if (order === 'desc') yield* newest();
  if (mark !== undefined && (above === undefined || above < mark)) {
    let seen: number | undefined;
    for (;;) {
      const blocks = await blocksToLookAt(db, { teamId, grams, order, above, below, seen, limit: BLOCKS_AT_ONCE });
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

async function* piecesOf(
  db: Store['db'],
  teamId: string,
  whole: { above: string | undefined; below: string | undefined },
  order: Order,
): AsyncGenerator<Stretch> {
  let { above, below } = whole;
  for (;;) {
    const edge = await emailAfter(db, teamId, { above, below, order, skip: EMAILS_AT_ONCE - 1 });
    const piece = edge === undefined ? {} : order === 'desc' ? { from: edge } : { to: edge };
    yield { range: { above, below, ...piece }, emails: EMAILS_AT_ONCE };
    if (edge === undefined) return;
    if (order === 'desc') below = edge;
    else above = edge;
  }
}

const latest = (a: string | undefined, b: string | undefined): string | undefined =>
  a === undefined || (b !== undefined && b > a) ? b : a;
