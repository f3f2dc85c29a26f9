import type { TemplateObject, TemplateStatus } from '../../src/contract/index.ts';
import type { AnswerOf } from '../client/index.ts';
import type { ItemOf } from './family.ts';
import {
  declareAction,
  currentIn,
  declareDetail,
  declareList,
  withRemaining,
  type Field,
  type Tone,
} from './family.ts';

type Template = ItemOf<'listTemplates'> | AnswerOf<'getTemplate'>;

/** Good can be sent with. */
const toTone = (status: TemplateStatus): Tone => (status === 'published' ? 'good' : 'plain');

/** Formats a variable as --variable takes it. */
function formatVariable({ key, type, fallback_value: fallback }: TemplateObject['variables'][number]): string {
  const kind = type === 'number' ? ':number' : '';
  return `${key}${kind}${fallback === null ? '' : `=${fallback}`}`;
}

const id: Field<Template> = { name: 'id', label: 'Id', kind: 'id' };
const alias: Field<Template> = { name: 'alias', label: 'Alias', kind: 'name' };
const status: Field<Template> = {
  name: 'status',
  label: 'Status',
  kind: 'state',
  tone: (template) => toTone(template.status),
};
const name: Field<Template> = { name: 'name', label: 'Name', kind: 'name' };
const created: Field<Template> = { name: 'created_at', label: 'Created', kind: 'time' };
const changed: Field<Template> = { name: 'updated_at', label: 'Changed', kind: 'time' };
const published: Field<Template> = { name: 'published_at', label: 'Published', kind: 'time' };

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
  command: 'templates',
  summary: 'write and publish email templates',
  noun: 'a template',
  list: declareList('listTemplates', {
    columns: [id, alias, status, name, changed, { ...created, shown: 'wide' }, { ...published, shown: 'wide' }],
  }),
  get: declareDetail('getTemplate', {
    fields: [
      id,
      name,
      alias,
      {
        ...status,
        value: ({ status: said, has_unpublished_versions: hasMore }) =>
          said === 'published' && hasMore ? 'published, with unpublished changes' : said,
      },
      created,
      changed,
      published,
      { name: 'from', label: 'From' },
      { name: 'reply_to', label: 'Reply to' },
      { name: 'subject', label: 'Subject' },
      { name: 'variables', label: 'Variables', value: (template) => template.variables.map(formatVariable) },
      { name: 'current_version_id', label: 'Version', kind: 'id', shown: 'asked' },
      { name: 'has_unpublished_versions', label: 'Unpublished changes', shown: 'asked' },
      { name: 'text', label: 'Text', kind: 'body' },
      { name: 'html', label: 'HTML', kind: 'body' },
    ],
  }),
  actions: [
    declareAction('createTemplate', {
      hint: ({ id: made }) => ({
        words: 'The template is a draft; publish it with',
        command: ['publishTemplate', made],
      }),
    }),
    declareAction('updateTemplate', {
      current: currentIn('getTemplate', (template) => ({
        ...template,
        variables: template.variables.map(formatVariable),
      })),
    }),
    declareAction('publishTemplate', {
      only: TO_PUBLISH,
      done: 'Published',
      warn: ({ warnings = [] }) => warnings.map((words) => ({ words })),
    }),
    declareAction('duplicateTemplate'),
    declareAction('deleteTemplate', { done: 'Removed' }),
  ],
});
