import { readCreatedRange } from '../../platform/created-range.ts';
import { isDatabaseSetback, mustBeAlone, type Page } from '../../platform/db/index.ts';
import type { Store } from '../../platform/store.ts';
import { insertLogs, findLog, listLogRows, logRowsEnding, type LogRow, type LogListRow } from './logs.store.ts';
import type { QueryOf } from '../../contract/index.ts';
import { isoTime } from '../../platform/clock.ts';
import { timeOfId } from '../../platform/ids.ts';
import { notFound } from '../../platform/refusal.ts';
import type { Ctx } from '../access/index.ts';

/** Records answered requests. No request waits for it, and it never grows without bound. */
export interface RequestLog {
  add(row: LogRow): void;
  /** Resolves when the rows added before are written, dropped, or cannot be written just now. */
  settled(): Promise<void>;
  /** Writes the remaining entries, if the database accepts them. */
  close(): Promise<void>;
}

/** One transaction of this many rows occupies the writer for about two milliseconds. */
const BATCH_ROWS = 200;
const GATHER_MS = 250;
const RETRY_MS = 1000;
/** Limits of the entries that wait while the database does not respond; beyond them the oldest are dropped. */
const WAITING_ROWS_MAX = 10_000;
const WAITING_CHARS_MAX = 16 * 1024 * 1024;

export function createRequestLog(store: Store): RequestLog {
  let waiting: LogRow[] = [];
  let waitingChars = 0;
  let added = 0;
  let finished = 0;
  let dropped = 0;
  let isFailing = false;
  let writing: Promise<boolean> | undefined;
  let cancelTimer: (() => void) | undefined;

  /** Writes a batch; returns false if writing cannot go on because the database is unavailable. */
  function writeBatch(): Promise<boolean> {
    writing ??= write(take()).finally(() => (writing = undefined));
    return writing;
  }

  async function write(batch: LogRow[]): Promise<boolean> {
    try {
      await store.db.txUnsynced((tx) => insertLogs(tx, batch));
      finished += batch.length;
      isFailing = false;
    } catch (error) {
      fail(batch, error);
    }
    logDropped();
    return !isFailing;
  }

  function fail(batch: LogRow[], error: unknown): void {
    if (!isDatabaseSetback(error)) {
      store.log.error({ err: error }, 'request logs could not be written');
      return drop(batch);
    }
    if (!isFailing) store.log.warn({ err: error }, 'request logs wait for the database');
    isFailing = true;
    waiting = [...batch, ...waiting];
    for (const row of batch) waitingChars += countChars(row);
    dropOldest();
  }

  function drop(batch: readonly LogRow[]): void {
    dropped += batch.length;
    finished += batch.length;
  }

  function take(): LogRow[] {
    const batch = waiting.splice(0, BATCH_ROWS);
    for (const row of batch) waitingChars -= countChars(row);
    return batch;
  }

  function dropOldest(): void {
    while (waiting.length > WAITING_ROWS_MAX || waitingChars > WAITING_CHARS_MAX) drop(take());
  }

  function logDropped(): void {
    if (dropped > 0) store.log.warn({ dropped }, 'request logs dropped');
    dropped = 0;
  }

  async function flush(): Promise<void> {
    cancelTimer?.();
    cancelTimer = undefined;
    while (waiting.length > 0 && (await writeBatch()));
    if (waiting.length > 0) flushIn(RETRY_MS);
  }

  function flushIn(delayMs: number): void {
    cancelTimer ??= store.clock.timer(delayMs, () => {
      cancelTimer = undefined;
      void flush();
    });
  }

  return {
    add(row) {
      added++;
      waiting.push(row);
      waitingChars += countChars(row);
      dropOldest();
      if (waiting.length < BATCH_ROWS || isFailing) flushIn(isFailing ? RETRY_MS : GATHER_MS);
      else if (!writing) void flush();
    },
    async settled() {
      const until = added;
      while (finished < until && (await writeBatch()));
    },
    async close() {
      cancelTimer?.();
      while ((writing || waiting.length > 0) && (await writeBatch()));
      cancelTimer?.();
      if (waiting.length > 0) store.log.warn({ dropped: waiting.length }, 'request logs dropped');
    },
  };
}

const countChars = (row: LogRow): number =>
  200 +
  row.endpoint.length +
  (row.user_agent?.length ?? 0) +
  (row.request_body?.length ?? 0) +
  (row.response_body?.length ?? 0);

/** `mayRead` decides whether the caller may see the bodies of a request and its response. */
export async function getLog(ctx: Ctx, id: string, mayRead: (method: string, endpoint: string) => boolean) {
  const row = await findLog(ctx.store.db, ctx.teamId, id);
  if (!row) throw notFound('Log');
  const shown = mayRead(row.method, row.endpoint) ? parsed : hidden;
  return {
    object: 'log' as const,
    ...present(row),
    request_body: shown(row.request_body),
    response_body: shown(row.response_body),
  };
}

export async function listLogs(ctx: Ctx, filter: QueryOf<'listLogs'>, page: Page) {
  const { response_status: responseStatus, search, id_end: end } = filter;
  if (end !== undefined) mustBeAlone(filter);
  const narrowed = { responseStatus, search, ...readCreatedRange(filter) };
  const { db } = ctx.store;
  const { rows, hasMore } =
    end === undefined
      ? await listLogRows(db, ctx.teamId, narrowed, page)
      : await logRowsEnding(db, ctx.teamId, end, page);
  return { object: 'list' as const, has_more: hasMore, data: rows.map(present) };
}

function present(row: LogListRow) {
  return {
    id: row.id,
    created_at: isoTime(row.created_at ?? timeOfId(row.id)),
    endpoint: row.endpoint,
    method: row.method,
    response_status: row.response_status,
    user_agent: row.user_agent,
  };
}

const parsed = (body: string | null): unknown => (body === null ? null : (JSON.parse(body) as unknown));
const hidden = (body: string | null): unknown =>
  body === null ? null : { redacted: true, bytes: Buffer.byteLength(body) };
