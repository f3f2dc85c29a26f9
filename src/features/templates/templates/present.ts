import { isoTime } from '../../../platform/clock/index.ts';
import type { TemplateRow, VersionRow } from './templates.store.ts';
import { readVariables } from './variables.ts';

export function presentTemplateItem(row: TemplateRow) {
  return {
    id: row.id,
    name: row.name,
    alias: row.alias,
    status: row.published_version_id === null ? ('draft' as const) : ('published' as const),
    published_at: row.published_at === null ? null : isoTime(row.published_at),
    created_at: isoTime(row.created_at),
    updated_at: isoTime(row.updated_at),
  };
}

export function presentTemplate(row: TemplateRow, draft: VersionRow) {
  return {
    object: 'template' as const,
    ...presentTemplateItem(row),
    current_version_id: row.published_version_id ?? row.draft_version_id,
    has_unpublished_versions: row.published_version_id !== row.draft_version_id,
    from: draft.sender,
    subject: draft.subject,
    reply_to: JSON.parse(draft.reply_to_list) as string[],
    html: draft.html,
    text: draft.text,
    variables: readVariables(draft.variables).map((variable) => ({
      id: variable.id,
      key: variable.key,
      type: variable.type,
      fallback_value: variable.fallback,
      created_at: isoTime(variable.createdAt),
      updated_at: isoTime(variable.updatedAt),
    })),
  };
}
