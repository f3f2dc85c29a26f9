import { adviseFor, declareAction, declareDetail, declareFamily, declareList, type FieldsOf } from './family.ts';

const fields: FieldsOf<'listInboxThreadEmails' | 'getInboxThreadEmail'> = {
  direction: { label: 'Way', value: ({ direction }) => (direction === 'inbound' ? 'received' : 'sent') },
  received_at: 'At',
  to: { kind: 'text' },
  cc: { kind: 'text' },
  bcc: { kind: 'text' },
  reply_to: { kind: 'text' },
  verdict: { label: 'Sender', kind: 'state', tone: ({ verdict }) => (verdict === 'suspicious' ? 'bad' : 'plain') },
  message_id: { kind: 'long' },
  attachments: { value: ({ attachments }) => attachments.map(({ id, filename }) => filename ?? id) },
};
const columns = ['id', 'direction', 'from', 'subject', 'received_at'] as const;
const more = [
  'to',
  'cc',
  'bcc',
  'reply_to',
  'last_event',
  'verdict',
  'message_id',
  'attachments',
  'read',
  'text',
  'html',
] as const;

const sent = { isOnce: true, hint: adviseFor('See its status with', 'explain') } as const;

export const inboxEmails = declareFamily({
  list: declareList('listInboxThreadEmails', { fields, columns, asked: more, empty: 'The thread has no emails.' }),
  get: declareDetail('getInboxThreadEmail', { fields, columns: [...columns, ...more] }),
  actions: [
    declareAction('replyToInboxEmail', { ...sent, done: 'Answered' }),
    declareAction('forwardInboxEmail', { ...sent, done: 'Forwarded' }),
    declareAction('renderInboxTemplate', { describe: ({ text }) => text }),
  ],
});
