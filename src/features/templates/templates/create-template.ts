import type { CreateTemplateRequest } from '../../../contract/index.ts';
import { isUniqueViolation } from '../../../platform/db/index.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import { aliasTaken, mustBeWritable, readList } from './content.ts';
import { insertTemplate, type VersionRow } from './templates.store.ts';
import { declareVariables } from './variables.ts';

export interface TemplateReference {
  object: 'template';
  id: string;
}

/** A draft may use undeclared variables, because it may be unfinished; publishing refuses them. */
export async function createTemplate(ctx: Ctx, input: CreateTemplateRequest): Promise<TemplateReference> {
  mustBeWritable(input);
  const { ids, clock } = ctx.store;
  const variables = declareVariables(input.variables ?? [], [], { now: clock.now(), newId: () => ids.uuid() });
  return addTemplate(ctx, input.name, input.alias ?? null, {
    sender: input.from?.trim() ?? null,
    subject: input.subject ?? null,
    reply_to_list: JSON.stringify(readList(input.reply_to).map((text) => text.trim())),
    html: input.html,
    text: input.text ?? null,
    variables: JSON.stringify(variables),
  });
}

export type Content = Omit<VersionRow, 'id' | 'template_id' | 'created_at'>;

export async function addTemplate(
  { store, teamId }: Ctx,
  name: string,
  alias: string | null,
  content: Content,
): Promise<TemplateReference> {
  const now = store.clock.now();
  const id = store.ids.uuid();
  const version: VersionRow = { ...content, id: store.ids.uuid(), template_id: id, created_at: now };
  const row = {
    id,
    team_id: teamId,
    name,
    alias,
    draft_version_id: version.id,
    published_version_id: null,
    created_at: now,
    updated_at: now,
    published_at: null,
  };
  try {
    await store.db.tx((tx) => insertTemplate(tx, row, version));
  } catch (error) {
    throw alias !== null && isUniqueViolation(error) ? aliasTaken(alias) : error;
  }
  return { object: 'template', id };
}
