import { notFound } from '../../platform/refusal/index.ts';
import { mustReach, type Ctx } from '../access/index.ts';
import { addTemplate, type TemplateReference } from './create-template.ts';
import { findTemplate, findVersion } from './templates.store.ts';
import { readVariables } from './variables.ts';

const NAME_CHARS_MAX = 200;

/** A draft of its own with the content as it was last written; an alias names one template, so the copy has none. */
export async function duplicateTemplate(ctx: Ctx, idOrAlias: string): Promise<TemplateReference> {
  mustReach(ctx.actor, 'full_access');
  const { world, teamId } = ctx;
  const row = await findTemplate(world.db, teamId, idOrAlias);
  const draft = row && (await findVersion(world.db, row.draft_version_id));
  if (!row || !draft) throw notFound('Template');
  const now = world.clock.now();
  const variables = readVariables(draft.variables).map((variable) => ({
    ...variable,
    id: world.ids.uuid(),
    createdAt: now,
    updatedAt: now,
  }));
  const name = [...`Copy of ${row.name}`].slice(0, NAME_CHARS_MAX).join('');
  return addTemplate(ctx, name, null, { ...draft, variables: JSON.stringify(variables) });
}
