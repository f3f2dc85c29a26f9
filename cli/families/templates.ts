import type { TemplateObject } from '../../src/contract/index.ts';
import {
  adviseFor,
  adviseWarnings,
  readIn,
  declareAction,
  declareDetail,
  declareList,
  withRemaining,
} from './family.ts';
import type { Fields, ItemIn } from './family.ts';
import { REVOKED, SHARED_PAGE } from './shares.ts';

type Template = ItemIn<'listTemplates' | 'getTemplate'>;

/** Formats a variable as --variable takes it. */
function formatVariable({ key, type, fallback_value: fallback }: TemplateObject['variables'][number]): string {
  const kind = type === 'number' ? ':number' : '';
  return `${key}${kind}${fallback === null ? '' : `=${fallback}`}`;
}

const fields: Fields<Template> = {
  // Good can be sent with.
  status: { tone: { draft: 'plain', published: 'good' } },
  updated_at: 'Changed',
  changed_by_app: 'Written by app',
};

/** A new name is a change as well: the list, which does not say more, offers then what changes nothing. */
const TO_PUBLISH = {
  when: (template: Template): boolean =>
    template.status !== 'published' ||
    ('has_unpublished_versions' in template
      ? template.has_unpublished_versions
      : template.updated_at > (template.published_at ?? '')),
  says: 'only for a template with unpublished changes',
};

export const templates = withRemaining({
  summary: 'write and publish email templates',
  list: declareList('listTemplates', {
    fields,
    columns: ['id', 'alias', 'status', 'name', 'updated_at'],
    wide: ['changed_by_app', 'created_at', 'published_at'],
  }),
  get: declareDetail('getTemplate', {
    fields: {
      status: {
        tone: { draft: 'plain', published: 'good' },
        value: ({ status, has_unpublished_versions: hasMore }) =>
          status === 'published' && hasMore ? 'published, with unpublished changes' : status,
      },
      updated_at: 'Changed',
      changed_by_app: 'Written by app',
      from: { kind: 'text' },
      reply_to: { kind: 'text' },
      variables: { value: (template) => template.variables.map(formatVariable) },
      current_version_id: { label: 'Version', shown: 'asked' },
      has_unpublished_versions: { label: 'Unpublished changes', shown: 'asked' },
    },
    columns: [
      'id',
      'name',
      'alias',
      'status',
      'created_at',
      'updated_at',
      'published_at',
      'changed_by_app',
      'from',
      'reply_to',
      'subject',
      'variables',
      'current_version_id',
      'has_unpublished_versions',
      'text',
      'html',
    ],
  }),
  actions: [
    declareAction('createTemplate', { hint: adviseFor('The template is a draft; publish it with', 'publishTemplate') }),
    declareAction('updateTemplate', {
      current: readIn('getTemplate', (template) => ({
        ...template,
        variables: template.variables.map(formatVariable),
      })),
    }),
    declareAction('publishTemplate', { only: TO_PUBLISH, done: 'Published', warn: adviseWarnings }),
    declareAction('duplicateTemplate'),
    declareAction('createTemplateShare', SHARED_PAGE),
    declareAction('revokeTemplateShares', REVOKED),
    declareAction('deleteTemplate', { done: 'Removed' }),
  ],
});
