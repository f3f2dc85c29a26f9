import { isoTime } from '../../platform/clock/index.ts';
import type { Page } from '../../platform/db/index.ts';
import { timeOfId } from '../../platform/ids/index.ts';
import { notFound } from '../../platform/refusal/index.ts';
import { mustReach, type Ctx } from '../access/index.ts';
import { readCreatedRange } from '../emails/index.ts';
import { findLog, listLogRows, type LogListRow } from './logs.store.ts';

export interface LogFilter {
  response_status?: number | undefined;
  start_date?: string | undefined;
  end_date?: string | undefined;
}

export async function getLog(ctx: Ctx, id: string) {
  mustReach(ctx.actor, 'full_access');
  const row = await findLog(ctx.world.db, ctx.teamId, id);
  if (!row) throw notFound('Log');
  return {
    object: 'log' as const,
    ...present(row),
    request_body: parsed(row.request_body),
    response_body: parsed(row.response_body),
  };
}

export async function listLogs(ctx: Ctx, filter: LogFilter, page: Page) {
  mustReach(ctx.actor, 'full_access');
  const narrowed = { responseStatus: filter.response_status, ...readCreatedRange(filter) };
  const { rows, hasMore } = await listLogRows(ctx.world.db, ctx.teamId, narrowed, page);
  return { object: 'list' as const, has_more: hasMore, data: rows.map(present) };
}

function present(row: LogListRow) {
  return {
    id: row.id,
    created_at: isoTime(timeOfId(row.id)),
    endpoint: row.endpoint,
    method: row.method,
    response_status: row.response_status,
    user_agent: row.user_agent,
  };
}

const parsed = (body: string | null): unknown => (body === null ? null : (JSON.parse(body) as unknown));
