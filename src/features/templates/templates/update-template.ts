import type { UpdateTemplateRequest } from '../../../contract/index.ts';
import { isUniqueViolation, type Executor } from '../../../platform/db/index.ts';
import type { Store } from '../../../platform/store/index.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import { aliasTaken, mustBeWritable, mustFit, readList } from './content.ts';
import type { Content, TemplateReference } from './create-template.ts';
import { templateToChange } from './read-templates.ts';
import { insertVersion, rewriteDraft, saveTemplate, type TemplateRow, type VersionRow } from './templates.store.ts';
import { declareVariables, readVariables } from './variables.ts';

/** Name and alias change at once; changed content goes to a draft version until it is published. */
export async function updateTemplate(
  ctx: Ctx,
  idOrAlias: string,
  input: UpdateTemplateRequest,
): Promise<TemplateReference> {
  mustBeWritable(input);
  const { store, teamId } = ctx;
  try {
    return await store.db.tx(async (tx) => {
      const { row, draft } = await templateToChange(tx, teamId, idOrAlias);
      if (Object.keys(input).length > 0) {
        const draftId = await writeContent(store, tx, row, draft, contentOf(store, input, draft));
        await saveTemplate(tx, {
          ...row,
          name: input.name ?? row.name,
          alias: input.alias === undefined ? row.alias : input.alias,
          draft_version_id: draftId,
          updated_at: store.clock.now(),
        });
      }
      return { object: 'template', id: row.id };
    });
  } catch (error) {
    throw input.alias && isUniqueViolation(error) ? aliasTaken(input.alias) : error;
  }
}

/** The content fields that the request gives, as they are stored. */
function contentOf(store: Store, input: UpdateTemplateRequest, draft: VersionRow): Partial<Content> {
  const { from, subject, reply_to: replyTo, html, text, variables } = input;
  const change: Partial<Content> = {};
  if (from !== undefined) change.sender = from?.trim() ?? null;
  if (subject !== undefined) change.subject = subject;
  if (replyTo !== undefined) change.reply_to_list = JSON.stringify(readList(replyTo).map((address) => address.trim()));
  if (html !== undefined) change.html = html;
  if (text !== undefined) change.text = text;
  if (variables !== undefined) {
    const stamp = { now: store.clock.now(), newId: () => store.ids.uuid() };
    change.variables = JSON.stringify(declareVariables(variables ?? [], readVariables(draft.variables), stamp));
  }
  return change;
}

/** Answers the version that has the content now. */
async function writeContent(
  store: Store,
  tx: Executor,
  row: TemplateRow,
  draft: VersionRow,
  change: Partial<Content>,
): Promise<string> {
  if (Object.keys(change).length === 0) return draft.id;
  const changed = { ...draft, ...change };
  mustFit(changed);
  if (draft.id !== row.published_version_id) {
    await rewriteDraft(tx, changed);
    return draft.id;
  }
  const fresh = { ...changed, id: store.ids.uuid(), created_at: store.clock.now() };
  await insertVersion(tx, fresh);
  return fresh.id;
}
