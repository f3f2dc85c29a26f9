import type { LastEvent } from '../../events/index.ts';
import type { Page } from '../../platform/db/index.ts';
import { notFound } from '../../platform/refusal/index.ts';
import { mustReach, type Ctx } from '../access/index.ts';
import { isAboveQuota, mustBeWithinQuota } from '../usage/index.ts';
import { loadBodies } from './email-bodies.ts';
import { findEmail, listEmailRows } from './emails.store.ts';
import { presentEmail } from './present.ts';
import { readCreatedRange } from './read-created-range.ts';
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
  const range = readCreatedRange(filter);
  const { status, api_key_id: apiKeyId, search } = filter;
  if (search !== undefined && !canBeFound(search)) return { object: 'list' as const, has_more: false, data: [] };
  const { rows, hasMore } = await listEmailRows(
    ctx.world.db,
    ctx.teamId,
    { status, apiKeyId, ...range, search },
    page,
  );
  const shown = (await isAboveQuota(ctx)) ? [] : rows.map((row) => row.id);
  const bodies = await loadBodies(ctx.world, ctx.world.db, shown);
  return { object: 'list' as const, has_more: hasMore, data: rows.map((row) => presentEmail(row, bodies.get(row.id))) };
}
