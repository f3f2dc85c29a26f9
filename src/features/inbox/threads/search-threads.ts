import { readCreatedRange } from '../../../platform/created-range.ts';
import type { QueryOf } from '../../../contract/index.ts';
import { nextTurn } from '../../../platform/clock.ts';
import type { Page } from '../../../platform/db/index.ts';
import { firstIdAt } from '../../../platform/ids.ts';
import { refuse } from '../../../platform/refusal.ts';
import type { Store } from '../../../platform/store.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import {
  foldAccents,
  gramOfTeam,
  gramsToFind,
  listStretches,
  addGrams,
  EMAILS_A_BLOCK,
} from '../../../mail/emails/index.ts';
import { findThread, threadsByIds } from '../store/threads.store.ts';
import {
  listInboxBlocksToSearch,
  inboxEmailAfter,
  inboxIndexedTo,
  matchesBetween,
  newestMatch,
  allInboxIds,
  inboxTextsAfter,
  insertInboxBlock,
  removeInboxBlocksBefore,
  splitTexts,
  type EmailMatch,
} from '../store/search.store.ts';
import type { StoredFolder } from '../store/rows.ts';
import { inboxNamed } from '../inboxes.ts';
import { foldersIn, idsIn, listIn, presentThreads } from './read-threads.ts';

const ADDRESSES_MAX = 10;
/** Emails that one page may search: a page with results ends there, one without is refused. */
const EMAILS_LOOKED_AT_MAX = 100_000;
/** Default folders: all but junk and trash. */
const WITHOUT_FOLDERS: readonly StoredFolder[] = ['inbox', 'automatic', 'snoozed', 'archive', 'sent'];

type Query = QueryOf<'searchInboxThreads'>;
interface Match {
  email_id: string;
  thread_id: string;
}

const lines = new WeakMap<Store, Map<string, Promise<unknown>>>();

/**
 * Searches threads. The searches of a team run one after the other, so that ten of them delay others no longer than
 * one.
 */
export async function searchInboxThreads(ctx: Ctx, named: string, query: Query, page: Page) {
  const inbox = await inboxNamed(ctx, named);
  const email = readMatch(query);
  const line = lines.get(ctx.store) ?? new Map<string, Promise<unknown>>();
  lines.set(ctx.store, line);
  const turn = (line.get(ctx.teamId) ?? Promise.resolve()).then(() => search(ctx, inbox.id, { query, email }, page));
  const done = turn.catch(() => undefined).finally(() => line.get(ctx.teamId) === done && line.delete(ctx.teamId));
  line.set(ctx.teamId, done);
  const { matches, hasMore } = await turn;
  const rows = new Map(
    (
      await threadsByIds(
        ctx.store.db,
        matches.map((match) => match.thread_id),
      )
    ).map((row) => [row.id, row]),
  );
  const found = matches.flatMap(({ thread_id: id, email_id: emailId }) => {
    const row = rows.get(id);
    return row ? [{ row, emailId }] : [];
  });
  const items = await presentThreads(
    ctx,
    found.map(({ row }) => row),
  );
  const data = items.map((item, i) => ({ ...item, matched_email_id: found[i]?.emailId ?? null }));
  return { object: 'list' as const, has_more: hasMore, data };
}

function readMatch(query: Query): EmailMatch {
  const { createdFrom, createdTo } = readCreatedRange(query);
  return {
    query: query.query === undefined ? undefined : foldAccents(query.query.trim()),
    from: addressesIn('from', query.from),
    to: addressesIn('to', query.to),
    cc: addressesIn('cc', query.cc),
    bcc: addressesIn('bcc', query.bcc),
    hasAttachment: query.has_attachment,
    sinceId: createdFrom === undefined ? undefined : firstIdAt(createdFrom),
    untilId: createdTo === undefined ? undefined : firstIdAt(createdTo + 1),
  };
}

function addressesIn(name: string, text: string | undefined): string[] | undefined {
  const parts = listIn(text)
    ?.map((part) => foldAccents(part.trim()))
    .filter((part) => part !== '');
  if (parts === undefined) return undefined;
  if (parts.length > 0 && parts.length <= ADDRESSES_MAX) return parts;
  throw refuse('invalid_parameter', { say: `${name} must be 1 to ${ADDRESSES_MAX} addresses separated by commas.` });
}

/** Finds matching threads, each at the position of its newest matching email. */
async function search(
  { store }: Ctx,
  inboxId: string,
  { query, email }: { query: Query; email: EmailMatch },
  page: Page,
): Promise<{ matches: Match[]; hasMore: boolean }> {
  const { db } = store;
  const isBack = page.before !== undefined;
  const order = isBack ? ('asc' as const) : ('desc' as const);
  const edge = await findEdge(store, inboxId, email, page.after ?? page.before);
  const thread = {
    folders: searchedFolders(query),
    read: query.read,
    labels: idsIn(query.labels),
  };
  const grams = [gramOfTeam(inboxId), ...listGrams(email)];
  const searched = {
    indexedTo: () => inboxIndexedTo(db, inboxId),
    listBlocks: (asked: Omit<Parameters<typeof listInboxBlocksToSearch>[1], 'inboxId' | 'grams'>) =>
      listInboxBlocksToSearch(db, { inboxId, grams, ...asked }),
    emailAfter: (range: Parameters<typeof inboxEmailAfter>[2]) => inboxEmailAfter(db, inboxId, range),
  };
  const edges = {
    above: isBack ? latest(edge, email.sinceId) : email.sinceId,
    below: isBack ? email.untilId : earliest(edge, email.untilId),
  };
  const matches: Match[] = [];
  let lookedAt = 0;
  let isCut = false;
  for await (const { range, emails } of listStretches(searched, edges, order)) {
    const limit = page.limit + 1 - matches.length;
    matches.push(...(await matchesBetween(db, inboxId, { email, thread }, { ...range, order, limit })));
    if (matches.length > page.limit) break;
    lookedAt += emails;
    isCut = lookedAt >= EMAILS_LOOKED_AT_MAX;
    if (isCut) break;
    await nextTurn();
  }
  if (isCut && matches.length === 0) throw tooWide(lookedAt);
  const kept = matches.slice(0, page.limit);
  if (isBack) kept.reverse();
  return { matches: kept, hasMore: isCut || matches.length > page.limit };
}

const searchedFolders = ({ folders }: Query): readonly StoredFolder[] => {
  const asked = foldersIn(folders);
  if (asked === undefined) return WITHOUT_FOLDERS;
  return asked.includes('inbox') ? [...asked, 'snoozed'] : asked;
};

/**
 * Returns the position of a thread in this search; for one that is gone or no longer matches, that of its last email or
 * of its beginning.
 */
async function findEdge(
  { db }: Store,
  inboxId: string,
  email: EmailMatch,
  threadId: string | undefined,
): Promise<string | undefined> {
  if (threadId === undefined) return undefined;
  const thread = await findThread(db, inboxId, threadId);
  if (!thread) return threadId;
  return (await newestMatch(db, threadId, email)) ?? thread.sort_id;
}

/** Returns the grams that a block must contain; a list of alternatives requires none. */
function listGrams({ query, from, to, cc, bcc }: EmailMatch): number[] {
  const single = [from, to, cc, bcc].flatMap((list) => (list?.length === 1 ? list : []));
  return [...(query === undefined ? [] : [query]), ...single].flatMap(gramsToFind);
}

const latest = (a: string | undefined, b: string | undefined): string | undefined =>
  a === undefined || (b !== undefined && b > a) ? b : a;
const earliest = (a: string | undefined, b: string | undefined): string | undefined =>
  a === undefined || (b !== undefined && b < a) ? b : a;

const tooWide = (emails: number) =>
  refuse('invalid_parameter', {
    say: `search has checked ${emails} emails without a match; narrow it with start_date and end_date, or search for a longer text.`,
  });

/** An id is made before its commit: after this time, every email with a smaller id is in the table. */
const SETTLED_MS = 60_000;
/** Blocks per run, which starts every minute: a hundred thousand emails. */
const BLOCKS_A_RUN = 400;

/**
 * Indexes the emails of inboxes in blocks for the search, after they have arrived and alternating between inboxes;
 * emails without a block are searched directly. Removes blocks whose emails are gone.
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

/** Indexes one block; returns false if there are too few emails for one. */
async function indexBlock({ db, clock }: Store, inboxId: string): Promise<boolean> {
  const above = await inboxIndexedTo(db, inboxId);
  const below = firstIdAt(clock.now() - SETTLED_MS);
  const last = await inboxEmailAfter(db, inboxId, { above, below, order: 'asc', skip: EMAILS_A_BLOCK - 1 });
  if (last === undefined) return false;
  const rows = await inboxTextsAfter(db, inboxId, above, EMAILS_A_BLOCK);
  const [first] = rows;
  if (!first) return false;
  const grams = new Set([gramOfTeam(inboxId)]);
  for (const row of rows) for (const text of splitTexts(row)) addGrams(text, grams);
  await db.txUnsynced((tx) => insertInboxBlock(tx, inboxId, { first_id: first.email_id, last_id: last }, grams));
  return true;
}
