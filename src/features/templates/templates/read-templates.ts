import type { Executor, Page } from '../../../platform/db/index.ts';
import { notFound } from '../../../platform/refusal/index.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import { presentTemplate, presentTemplateItem } from './present.ts';
import { findTemplate, findVersion, lockTemplate, listTemplateRows, type TemplateRow } from './templates.store.ts';
import type { VersionRow } from './templates.store.ts';

export async function getTemplate(ctx: Ctx, idOrAlias: string) {
  const { db } = ctx.store;
  const row = await findTemplate(db, ctx.teamId, idOrAlias);
  // Between the two statements the template may be deleted or published.
  const draft = row && (await findVersion(db, row.draft_version_id));
  if (!row || !draft) throw notFound('Template');
  return presentTemplate(row, draft);
}

export async function listTemplates(ctx: Ctx, page: Page) {
  const { rows, hasMore } = await listTemplateRows(ctx.store.db, ctx.teamId, page);
  return { object: 'list' as const, has_more: hasMore, data: rows.map(presentTemplateItem) };
}

/** The template and its draft, locked for a change. */
export async function templateToChange(
  tx: Executor,
  teamId: string,
  idOrAlias: string,
): Promise<{ row: TemplateRow; draft: VersionRow }> {
  const row = await lockTemplate(tx, teamId, idOrAlias);
  if (!row) throw notFound('Template');
  const draft = await findVersion(tx, row.draft_version_id);
  if (!draft) throw new Error(`template ${row.id} has lost its draft ${row.draft_version_id}`);
  return { row, draft };
}
