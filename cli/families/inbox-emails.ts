import type { AnswerOf } from '../client/index.ts';
import { declareAction, asked, declareDetail, declareList, type Family, type Field, type ItemOf } from './family.ts';

type Email = ItemOf<'listInboxThreadEmails'> | AnswerOf<'getInboxThreadEmail'>;

const moreOfEmail: readonly Field<Email>[] = [
  { name: 'to', label: 'To' },
  { name: 'cc', label: 'Cc' },
  { name: 'bcc', label: 'Bcc' },
  { name: 'reply_to', label: 'Reply to' },
  { name: 'last_event', label: 'State', kind: 'state' },
  {
    name: 'verdict',
    label: 'Sender',
    kind: 'state',
    tone: ({ verdict }) => (verdict === 'suspicious' ? 'bad' : 'plain'),
  },
  { name: 'message_id', label: 'Message-ID', kind: 'long' },
  {
    name: 'attachments',
    label: 'Attachments',
    value: ({ attachments }) => attachments.map(({ id, filename }) => filename ?? id),
  },
  { name: 'read', label: 'Read' },
  { name: 'text', label: 'Text', kind: 'body' },
  { name: 'html', label: 'HTML', kind: 'body' },
];

const emailFields: readonly Field<Email>[] = [
  { name: 'id', label: 'Id', kind: 'id' },
  { name: 'direction', label: 'Way', value: ({ direction }) => (direction === 'inbound' ? 'received' : 'sent') },
  { name: 'from', label: 'From', kind: 'name' },
  { name: 'subject', label: 'Subject' },
  { name: 'received_at', label: 'At', kind: 'time' },
];

export const inboxEmails = {
  command: 'inbox',
  summary: 'list and show the emails of a thread',
  noun: 'an email',
  list: declareList('listInboxThreadEmails', {
    columns: [...emailFields, ...asked(...moreOfEmail)],
    empty: 'The thread has no emails.',
  }),
  get: declareDetail('getInboxThreadEmail', { fields: [...emailFields, ...moreOfEmail] }),
  actions: [
    declareAction('replyToInboxEmail', {
      isOnce: true,
      done: 'Answered',
      hint: ({ id }) => ({ words: 'See its status with', command: ['explain', id] }),
    }),
    declareAction('forwardInboxEmail', {
      isOnce: true,
      done: 'Forwarded',
      hint: ({ id }) => ({ words: 'See its status with', command: ['explain', id] }),
    }),
  ],
} satisfies Family;
