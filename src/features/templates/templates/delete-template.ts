import { notFound } from '../../../platform/refusal/index.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import type { TemplateReference } from './create-template.ts';
import { deleteTemplateRows, lockTemplate } from './templates.store.ts';

/** Emails are rendered when they are accepted, so that accepted ones no longer need the template. */
export async function deleteTemplate(ctx: Ctx, idOrAlias: string): Promise<TemplateReference & { deleted: true }> {
  return ctx.store.db.tx(async (tx) => {
    const row = await lockTemplate(tx, ctx.teamId, idOrAlias);
    if (!row) throw notFound('Template');
    await deleteTemplateRows(tx, row.id);
    return { object: 'template', id: row.id, deleted: true };
  });
}
