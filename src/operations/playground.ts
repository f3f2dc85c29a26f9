import { clearCaptured, findCaptured, readWholeCaptured } from '../mail/capture/index.ts';
import { refuse } from '../platform/refusal.ts';
import { pageOf, type Operations } from './operation.ts';

/** Sources that one page holds at most; a message comes whole whatever its size. */
const PAGE_BYTES = 25 * 1024 * 1024;
const WAIT_MS_MAX = 60_000;
const WAIT_FORM = /^(\d{1,6}(?:\.\d{1,3})?)(ms|s)$/;

export const playground = {
  async listPlaygroundMessages({ store, whenGone }, { query = {} }) {
    const filter = { to: query.to, subject: query.subject, emailId: query.email_id };
    const found = await findCaptured(store, filter, pageOf(query), {
      waitMs: readWait(query.wait),
      gone: whenGone?.(),
    });
    // With `before` the oldest of the page are nearest to the cursor, so that a page that ends early keeps those.
    const rows = query.before === undefined ? found.rows : found.rows.toReversed();
    const data = [];
    let isFull = false;
    let bytes = 0;
    for (const row of rows) {
      bytes += row.size;
      isFull = data.length > 0 && bytes > PAGE_BYTES;
      if (isFull) break;
      const message = await readWholeCaptured(store, row);
      if (message) data.push(message);
    }
    if (query.before !== undefined) data.reverse();
    return { object: 'list' as const, has_more: found.hasMore || isFull, data };
  },
  async clearPlaygroundMessages({ store }) {
    return { object: 'playground' as const, deleted: true as const, count: await clearCaptured(store) };
  },
} satisfies Partial<Operations>;

/** Returns how many milliseconds a caller wants to wait. */
function readWait(text: string | undefined): number {
  if (text === undefined) return 0;
  const [, count, unit] = WAIT_FORM.exec(text) ?? [];
  const ms = Math.ceil(Number(count) * (unit === 's' ? 1000 : 1));
  if (count !== undefined && ms <= WAIT_MS_MAX) return ms;
  throw refuse('invalid_parameter', {
    say: `wait must be a number of seconds or milliseconds with its unit, such as 5s or 500ms, at most 60s; got ${JSON.stringify(text)}.`,
  });
}
