import type { TemplateObject, TemplateStatus } from '../../src/contract/index.ts';
import type { AnswerOf } from '../client/index.ts';
import type { ItemOf } from './family.ts';
import {
  actionOf,
  currentIn,
  detailOf,
  listOf,
  nameIn,
  type Family,
  type Field,
  type Flag,
  type Key,
  type Tone,
} from './family.ts';

const TEMPLATE: Key = { word: 'template', says: 'its id or alias' };

type Template = ItemOf<'listTemplates'> | AnswerOf<'getTemplate'>;

/** Good can be sent with. */
const toneOf = (status: TemplateStatus): Tone => (status === 'published' ? 'good' : 'plain');

/** As --variable takes it. */
function declarationOf({ key, type, fallback_value: fallback }: TemplateObject['variables'][number]): string {
  const kind = type === 'number' ? ':number' : '';
  return `${key}${kind}${fallback === null ? '' : `=${fallback}`}`;
}

const id: Field<Template> = { name: 'id', label: 'Id', kind: 'id' };
const alias: Field<Template> = { name: 'alias', label: 'Alias', kind: 'name' };
const status: Field<Template> = {
  name: 'status',
  label: 'Status',
  kind: 'state',
  tone: (template) => toneOf(template.status),
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
  says: 'only a template with changes that are not published',
};

const content = {
  html: { value: '<html>', says: 'the HTML', fromFile: 'HTML', hasLines: true },
  text: { value: '<text>', says: 'the plain text', fromFile: 'plain text', hasLines: true, isClearable: true },
  subject: { value: '<text>', says: 'the subject of sends that name none', isClearable: true },
  from: { value: '<address>', says: 'the sender of sends that name none', isClearable: true, isMore: true },
  reply_to: {
    value: '<address>',
    says: 'where answers go',
    isRepeatable: true,
    isClearable: true,
    isMore: true,
  },
  alias: { value: '<alias>', says: 'a name to send and read it by', isClearable: true },
  variables: {
    flag: 'variable',
    value: '<declaration>',
    says: 'KEY, KEY=fallback, KEY:number or KEY:number=25; all together replace those before',
    isRepeatable: true,
    syntax: 'variable declaration',
    isClearable: true,
    isMore: true,
  },
} as const satisfies Readonly<Record<string, Flag>>;

export const templates = {
  command: 'templates',
  summary: 'write and publish messages that are sent by name',
  noun: 'a template',
  list: listOf('listTemplates', {
    summary: 'list templates, newest first',
    example: 'templates list',
    columns: [id, alias, status, name, changed, { ...created, shown: 'wide' }, { ...published, shown: 'wide' }],
    empty: 'There are no templates yet.',
  }),
  get: detailOf('getTemplate', {
    summary: 'show a template as it was last written',
    example: 'templates get order-confirmation',
    path: { template: TEMPLATE },
    fields: [
      id,
      name,
      alias,
      {
        ...status,
        value: ({ status: said, has_unpublished_versions: hasMore }) =>
          said === 'published' && hasMore ? 'published, with changes that are not' : said,
      },
      created,
      changed,
      published,
      { name: 'from', label: 'From' },
      { name: 'reply_to', label: 'Reply to' },
      { name: 'subject', label: 'Subject' },
      { name: 'variables', label: 'Variables', value: (template) => template.variables.map(declarationOf) },
      { name: 'current_version_id', label: 'Version', kind: 'id', shown: 'asked' },
      { name: 'has_unpublished_versions', label: 'Unpublished changes', shown: 'asked' },
      { name: 'text', label: 'Text', kind: 'body' },
      { name: 'html', label: 'HTML', kind: 'body' },
    ],
  }),
  actions: [
    actionOf('createTemplate', {
      verb: 'create',
      key: 'c',
      summary: 'write a template',
      description:
        'Writes a template as a draft; publish it before sending with it. {{{KEY}}} or {{{KEY|default}}} in HTML, text and subject is where a value goes.',
      example:
        "templates create 'Order confirmation' --html '<p>{{{PRODUCT}}}</p>' --variable 'PRODUCT=your item' --alias order-confirmation",
      flags: {
        name: { value: '<name>', says: 'what you call it; recipients never see it', isWord: true, isRequired: true },
        ...content,
        html: { ...content.html, isRequired: true },
      },
      done: 'Created',
      hint: ({ id: made }) => ({ words: 'It is a draft; publish it with', command: ['publishTemplate', made] }),
    }),
    actionOf('updateTemplate', {
      verb: 'update',
      key: 'u',
      summary: 'change a template',
      description:
        'Changes what is named and leaves the rest as it is. Changed content is a draft until it is published; name and alias change at once.',
      example: "templates update order-confirmation --subject 'Your order of {{{PRODUCT}}}'",
      path: { template: TEMPLATE },
      flags: { name: { value: '<name>', says: 'what you call it' }, ...content },
      clears: ['alias', 'from', 'subject', 'reply_to', 'text', 'variables'],
      current: currentIn('getTemplate', (template) => ({
        ...template,
        variables: template.variables.map(declarationOf),
      })),
      done: 'Changed',
    }),
    actionOf('publishTemplate', {
      verb: 'publish',
      key: 'p',
      summary: 'let sends use a template as it is now',
      example: 'templates publish order-confirmation',
      path: { template: TEMPLATE },
      only: TO_PUBLISH,
      done: 'Published',
      warn: ({ warnings = [] }) => warnings.map((words) => ({ words })),
    }),
    actionOf('duplicateTemplate', {
      verb: 'duplicate',
      key: 'd',
      summary: 'copy a template as a draft',
      description: 'Copies a template, as it was last written, into a draft without an alias.',
      example: 'templates duplicate order-confirmation',
      path: { template: TEMPLATE },
      done: 'Created',
    }),
    actionOf('deleteTemplate', {
      verb: 'delete',
      key: 'e',
      summary: 'delete a template and its versions',
      example: 'templates delete order-confirmation',
      path: { template: TEMPLATE },
      done: 'Removed',
      destroys: {
        says: 'delete the template and all its versions; sends that name it are refused from then on',
        name: nameIn('getTemplate', (template) => template.alias ?? template.name),
      },
    }),
  ],
} satisfies Family;
