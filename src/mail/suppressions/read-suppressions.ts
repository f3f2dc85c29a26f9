import type { QueryOf } from '../../contract/index.ts';
import { isoTime } from '../../platform/clock/index.ts';
import { mustBeAlone, type Executor, type Page } from '../../platform/db/index.ts';
import { notFound, refuse } from '../../platform/refusal/index.ts';
import { normalizeAddress } from '../../protocol/address/index.ts';
import type { Ctx } from '../../tenancy/access/index.ts';
import { keyOf } from './email-key.ts';
import {
  findByIds,
  findByKeys,
  listSuppressionRows,
  suppressionRowsEnding,
  type SuppressionRow,
} from './suppressions.store.ts';

export async function getSuppression(ctx: Ctx, idOrAddress: string) {
  return { object: 'suppression' as const, ...present(await suppressionNamed(ctx.store.db, ctx.teamId, idOrAddress)) };
}

export async function listSuppressions(ctx: Ctx, filter: QueryOf<'listSuppressions'>, page: Page) {
  const { db } = ctx.store;
  const { id_end: end } = filter;
  if (end !== undefined) mustBeAlone(filter);
  const { rows, hasMore } =
    end === undefined
      ? await listSuppressionRows(db, ctx.teamId, filter, page)
      : await suppressionRowsEnding(db, ctx.teamId, end, page);
  return { object: 'list' as const, has_more: hasMore, data: rows.map(present) };
}

/** Which of these addresses are suppressed now, in their order. */
export async function suppressedNow({ store, teamId }: Ctx, addresses: readonly string[]) {
  const keys = addresses.map(normalizeAddress);
  const rows = new Map((await findByKeys(store.db, teamId, keys)).map((row) => [row.email_key, row]));
  return addresses.flatMap((email) => {
    const row = rows.get(normalizeAddress(email));
    return row ? [{ email, origin: row.origin, created_at: isoTime(row.created_at) }] : [];
  });
}

/** The path of a suppression is its id or the suppressed address. */
export async function suppressionNamed(db: Executor, teamId: string, idOrAddress: string): Promise<SuppressionRow> {
  const isId = /^sup_[0-9a-f]{32}$/.test(idOrAddress);
  const key = keyOf(idOrAddress);
  if (!isId && key === undefined) {
    throw refuse('invalid_parameter', {
      say: 'A suppression is named by its id (sup_…) or by the suppressed address.',
    });
  }
  const [row] = isId ? await findByIds(db, teamId, [idOrAddress]) : await findByKeys(db, teamId, [key ?? '']);
  if (!row) throw notFound('Suppression');
  return row;
}

function present(row: SuppressionRow) {
  return {
    id: row.id,
    email: row.email,
    origin: row.origin,
    source_id: row.source_id,
    created_at: isoTime(row.created_at),
  };
}
