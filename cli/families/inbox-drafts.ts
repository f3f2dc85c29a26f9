import {
  declareAction,
  asked,
  currentIn,
  declareDetail,
  declareList,
  withRemaining,
  type Field,
  type ItemOf,
} from './family.ts';

type Row = Omit<ItemOf<'listInboxDrafts'>, 'snippet'>;

const fields: readonly Field<Row>[] = [
  { name: 'id', label: 'Id', kind: 'id' },
  { name: 'type', label: 'Kind', value: ({ type }) => (type === 'reply' ? 'answer' : 'new mail') },
  { name: 'to', label: 'To', kind: 'name' },
  { name: 'subject', label: 'Subject' },
  { name: 'updated_at', label: 'Changed', kind: 'time' },
];

const more: readonly Field<Row>[] = [
  { name: 'cc', label: 'Cc' },
  { name: 'bcc', label: 'Bcc' },
  { name: 'thread_id', label: 'Thread', kind: 'id' },
  { name: 'reply_to_email_id', label: 'Answers', kind: 'id' },
  {
    name: 'attachments',
    label: 'Attachments',
    value: ({ attachments }) => attachments.map(({ filename }) => filename),
  },
];

export const inboxDrafts = withRemaining({
  command: 'inbox',
  summary: 'manage the drafts of an inbox',
  noun: 'a draft',
  list: declareList('listInboxDrafts', {
    columns: [...fields, { name: 'snippet', label: 'Begins', shown: 'wide' }, ...asked(...more)],
    empty: 'There are no drafts.',
  }),
  get: declareDetail('getInboxDraft', {
    fields: [
      ...fields,
      ...more,
      { name: 'email_id', label: 'Sent as', kind: 'id' },
      { name: 'created_at', label: 'Created', kind: 'time' },
      { name: 'text', label: 'Text', kind: 'body' },
      { name: 'html', label: 'HTML', kind: 'body' },
    ],
    hint: ({ email_id: sentAs }) =>
      sentAs === null ? undefined : { words: 'See what happened to it with', command: ['explain', sentAs] },
  }),
  actions: [
    declareAction('createInboxDraft', { done: 'Written' }),
    declareAction('updateInboxDraft', {
      current: currentIn('getInboxDraft', ({ attachments: _, ...draft }) => draft),
      done: 'Changed',
    }),
    declareAction('sendInboxDraft', {
      done: 'Sent',
      hint: ({ id }) => ({ words: 'See its status with', command: ['explain', id] }),
    }),
    declareAction('deleteInboxDraft', { done: 'Deleted' }),
  ],
  elsewhere: { replyToInboxEmail: true, forwardInboxEmail: true },
});
