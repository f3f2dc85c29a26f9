import type { LastEvent } from '../../events/index.ts';
import type { Page } from '../../platform/db/index.ts';
import { notFound, refuse } from '../../platform/refusal/index.ts';
import { mustReach, type Ctx } from '../access/index.ts';
import { isAboveQuota, mustBeWithinQuota } from '../usage/index.ts';
import { loadBodies } from './email-bodies.ts';
import { findEmail, listEmailRows } from './emails.store.ts';
import { parseIsoTime } from './iso-time.ts';
import { presentEmail } from './present.ts';
import { canBeFound } from './search-text.ts';

export interface EmailFilter {
  status?: LastEvent | undefined;
  api_key_id?: string | undefined;
  start_date?: string | undefined;
  end_date?: string | undefined;
  search?: string | undefined;
}

export async function getEmail(ctx: Ctx, id: string) {
  mustReach(ctx.actor, 'full_access');
  const row = await findEmail(ctx.world.db, ctx.teamId, id);
  if (!row) throw notFound('Email');
  await mustBeWithinQuota(ctx);
  const bodies = await loadBodies(ctx.world, ctx.world.db, [id]);
  return presentEmail(row, bodies.get(id));
}

export async function listEmails(ctx: Ctx, filter: EmailFilter, page: Page) {
  mustReach(ctx.actor, 'full_access');
  const createdFrom = readInstant('start_date', filter.start_date, 0);
  // A date alone means the whole day.
  const createdTo = readInstant('end_date', filter.end_date, DAY_MS - 1);
  if (createdFrom !== undefined && createdTo !== undefined && createdTo < createdFrom) {
    throw refuse('invalid_parameter', { say: 'end_date must not be before start_date.' });
  }
  const { status, api_key_id: apiKeyId, search } = filter;
  if (search !== undefined && !canBeFound(search)) return { object: 'list' as const, has_more: false, data: [] };
  const { rows, hasMore } = await listEmailRows(
    ctx.world.db,
    ctx.teamId,
    { status, apiKeyId, createdFrom, createdTo, search },
    page,
  );
  const shown = (await isAboveQuota(ctx)) ? [] : rows.map((row) => row.id);
  const bodies = await loadBodies(ctx.world, ctx.world.db, shown);
  return { object: 'list' as const, has_more: hasMore, data: rows.map((row) => presentEmail(row, bodies.get(row.id))) };
}

const DAY_MS = 24 * 3_600_000;

function readInstant(name: string, text: string | undefined, dateOffsetMs: number): number | undefined {
  if (text === undefined) return undefined;
  const time = parseIsoTime(text);
  if (time) return time.ms + (time.isDateAlone ? dateOffsetMs : 0);
  throw refuse('invalid_parameter', {
    say: `${name} must be an ISO 8601 date or time, such as 2027-01-31 or 2027-01-31T12:00:00Z; got ${JSON.stringify(text.slice(0, 40))}.`,
  });
}
