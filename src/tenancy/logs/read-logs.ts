import type { QueryOf } from '../../contract/index.ts';
import { isoTime } from '../../platform/clock/index.ts';
import { mustBeAlone, type Page } from '../../platform/db/index.ts';
import { timeOfId } from '../../platform/ids/index.ts';
import { notFound } from '../../platform/refusal/index.ts';
import type { Ctx } from '../access/index.ts';
import { readCreatedRange } from '../../mail/emails/index.ts';
import { findLog, listLogRows, logRowsEnding, type LogListRow } from './logs.store.ts';

/** `mayRead` says whether the caller may see what a request said and what it was answered. */
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
