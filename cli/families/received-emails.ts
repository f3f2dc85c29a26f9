import { declareAction, declareDetail, declareList, withRemaining, type FieldsOf } from './family.ts';

const fields: FieldsOf<'listReceivedEmails' | 'getReceivedEmail'> = {
  created_at: 'Received',
  // Values that the message lacks come from its envelope; marked, because no author wrote them for a reader.
  from: { value: ({ from: written, envelope }) => written || `<${envelope.from}> (envelope)` },
  to: {
    value: ({ to: written, envelope }) =>
      written.length > 0 ? written : envelope.to.map((address) => `${address} (envelope)`),
  },
  'envelope.from': { label: 'Envelope from', kind: 'text', shown: 'asked' },
  'envelope.to': { label: 'Envelope to', kind: 'text', shown: 'asked' },
  dropped_reason: { label: 'Dropped', kind: 'state', tone: () => 'bad' },
  attachments: { value: (email) => email.attachments.map((file) => file.filename ?? file.content_type) },
};

export const receivedEmails = withRemaining({
  summary: 'list, read and delete received emails',
  list: declareList('listReceivedEmails', {
    fields,
    columns: ['id', 'created_at', 'from', 'to', 'subject', 'dropped_reason'],
    wide: ['cc', 'bcc', 'reply_to', 'message_id'],
    asked: ['envelope.from', 'envelope.to', 'attachments'],
  }),
  get: declareDetail('getReceivedEmail', {
    fields: {
      ...fields,
      content_withheld: { kind: 'state', tone: () => 'bad', shown: 'asked' },
      not_forwarded_reason: { label: 'Not forwarded', kind: 'state', tone: () => 'bad', shown: 'asked' },
      authentication: { label: 'Checked', shown: 'asked' },
      headers: { shown: 'asked' },
      html: { shown: 'asked' },
      raw: { label: 'Source', shown: 'asked' },
    },
    columns: [
      'id',
      'created_at',
      'from',
      'to',
      'cc',
      'bcc',
      'reply_to',
      'subject',
      'message_id',
      'dropped_reason',
      'content_withheld',
      'received_for',
      'envelope.from',
      'envelope.to',
      'not_forwarded_reason',
      'attachments',
      'authentication',
      'headers',
      'text',
      'html',
      'raw',
    ],
  }),
  actions: [declareAction('deleteReceivedEmail', { done: 'Removed' })],
  elsewhere: { listReceivedAttachments: true, getReceivedAttachment: true },
});
