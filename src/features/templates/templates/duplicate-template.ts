import { notFound } from '../../../platform/refusal/index.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import { addTemplate, type TemplateReference } from './create-template.ts';
import { findTemplate, findVersion } from './templates.store.ts';
import { readVariables } from './variables.ts';

const NAME_CHARS_MAX = 200;

/** The copy is a draft with the latest content, published or not, and without an alias, because an alias names one template. */
export async function duplicateTemplate(ctx: Ctx, idOrAlias: string): Promise<TemplateReference> {
  const { store, teamId } = ctx;
  const row = await findTemplate(store.db, teamId, idOrAlias);
  const draft = row && (await findVersion(store.db, row.draft_version_id));
  if (!row || !draft) throw notFound('Template');
  const now = store.clock.now();
  const variables = readVariables(draft.variables).map((variable) => ({
    ...variable,
    id: store.ids.uuid(),
    createdAt: now,
    updatedAt: now,
  }));
  const name = [...`Copy of ${row.name}`].slice(0, NAME_CHARS_MAX).join('');
  return addTemplate(ctx, name, null, { ...draft, variables: JSON.stringify(variables) });
}
