import { nextTurn } from '../../platform/clock/index.ts';
import type { IdRange } from './emails.store.ts';
import { EMAILS_A_BLOCK } from './index-emails.ts';
import type { SearchBlock } from './search-blocks.store.ts';

type Order = 'desc' | 'asc';

/** Looked at in one statement, in less than a millisecond: whatever else is waiting comes in between. */
const EMAILS_AT_ONCE = 1000;
const BLOCKS_AT_ONCE = 32;

/** Emails of somebody that are searched, with their blocks. */
export interface Searched {
  /** The last email that stands in a block. */
  indexedTo(): Promise<string | undefined>;
  blocksToLookAt(search: {
    order: Order;
    above: string | undefined;
    below: string | undefined;
    seen: number | undefined;
    limit: number;
  }): Promise<SearchBlock[]>;
  /** The id that comes after `skip` others of the range. */
  emailAfter(range: IdRange & { order: Order; skip: number }): Promise<string | undefined>;
}

export interface Stretch {
  range: IdRange;
  /** How many emails it holds at the most. */
  emails: number;
}

/** In the order of the page: what is in no block yet, piece by piece, and the blocks that may hold it. */
export async function* stretchesToLookAt(
  searched: Searched,
  { above, below }: { above: string | undefined; below: string | undefined },
  order: Order,
): AsyncGenerator<Stretch> {
  const mark = await searched.indexedTo();
  const newest = () => piecesOf(searched, { above: latest(above, mark), below }, order);
  if (order === 'desc') yield* newest();
  if (mark !== undefined && (above === undefined || above < mark)) {
    let seen: number | undefined;
    for (;;) {
      const blocks = await searched.blocksToLookAt({ order, above, below, seen, limit: BLOCKS_AT_ONCE });
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

export const latest = (a: string | undefined, b: string | undefined): string | undefined =>
  a === undefined || (b !== undefined && b > a) ? b : a;
