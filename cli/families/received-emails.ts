import { bytesInWords } from './bytes-in-words.ts';
import type { AnswerOf } from '../client/index.ts';
import type { ItemOf } from './family.ts';
import {
  declareAction,
  asked,
  declareDetail,
  declareList,
  wide,
  withRemaining,
  type Family,
  type Field,
} from './family.ts';

type Email = ItemOf<'listReceivedEmails'> | AnswerOf<'getReceivedEmail'>;

const id: Field<Email> = { name: 'id', label: 'Id', kind: 'id' };
const created: Field<Email> = { name: 'created_at', label: 'Received', kind: 'time' };
/** Values that the message lacks come from its envelope; marked, because no author wrote them for a reader. */
const from: Field<Email> = {
  name: 'from',
  label: 'From',
  kind: 'name',
  value: ({ from: written, envelope }) => written || `<${envelope.from}> (envelope)`,
};
const to: Field<Email> = {
  name: 'to',
  label: 'To',
  kind: 'name',
  value: ({ to: written, envelope }) =>
    written.length > 0 ? written : envelope.to.map((address) => `${address} (envelope)`),
};
const envelope = asked<Email>(
  { name: 'envelope.from', label: 'Envelope from' },
  { name: 'envelope.to', label: 'Envelope to' },
);
const subject: Field<Email> = { name: 'subject', label: 'Subject' };
const dropped: Field<Email> = { name: 'dropped_reason', label: 'Dropped', kind: 'state', tone: () => 'bad' };
const cc: Field<Email> = { name: 'cc', label: 'Cc', kind: 'name' };
const bcc: Field<Email> = { name: 'bcc', label: 'Bcc', kind: 'name' };
const replyTo: Field<Email> = { name: 'reply_to', label: 'Reply to', kind: 'name' };
const messageId: Field<Email> = { name: 'message_id', label: 'Message-ID', kind: 'whole' };
const files: Field<Email> = {
  name: 'attachments',
  label: 'Attachments',
  value: (email) => email.attachments.map((file) => file.filename ?? file.content_type),
};

export const receivedEmails = withRemaining({
  command: 'received',
  summary: 'list, read and delete received emails',
  noun: 'a received email',
  list: declareList('listReceivedEmails', {
    columns: [
      id,
      created,
      from,
      to,
      subject,
      dropped,
      ...wide(cc, bcc, replyTo, messageId),
      ...envelope,
      ...asked(files),
    ],
  }),
  get: declareDetail('getReceivedEmail', {
    fields: [
      id,
      created,
      from,
      to,
      cc,
      bcc,
      replyTo,
      subject,
      messageId,
      dropped,
      { name: 'content_withheld', label: 'Withheld', kind: 'state', tone: () => 'bad', shown: 'asked' },
      { name: 'received_for', label: 'Received for' },
      ...envelope,
      { name: 'not_forwarded_reason', label: 'Not forwarded', kind: 'state', tone: () => 'bad', shown: 'asked' },
      files,
      { name: 'authentication', label: 'Checked', shown: 'asked' },
      { name: 'headers', label: 'Headers', kind: 'body', shown: 'asked' },
      { name: 'text', label: 'Text', kind: 'body' },
      { name: 'html', label: 'HTML', kind: 'body', shown: 'asked' },
      { name: 'raw', label: 'Source', shown: 'asked' },
    ],
  }),
  actions: [declareAction('deleteReceivedEmail', { done: 'Removed' })],
  elsewhere: { listReceivedAttachments: true, getReceivedAttachment: true },
});

type Attachment = ItemOf<'listReceivedAttachments'> | AnswerOf<'getReceivedAttachment'>;

const fileId: Field<Attachment> = { name: 'id', label: 'Id', kind: 'id' };
const bytes: Field<Attachment> = {
  name: 'size',
  label: 'Size',
  kind: 'number',
  words: ({ size }) => bytesInWords(size),
};
const type: Field<Attachment> = { name: 'content_type', label: 'Type' };
const filename: Field<Attachment> = { name: 'filename', label: 'Filename', kind: 'name' };
const contentId: Field<Attachment> = { name: 'content_id', label: 'Content-ID' };
const disposition: Field<Attachment> = { name: 'content_disposition', label: 'Disposition' };
const link: Field<Attachment> = { name: 'download_url', label: 'Link', kind: 'long' };
const expires: Field<Attachment> = { name: 'expires_at', label: 'Expires', kind: 'time' };

export const receivedAttachments = {
  command: 'received',
  summary: 'list and download the attachments of received emails',
  noun: 'an attachment',
  list: declareList('listReceivedAttachments', {
    columns: [fileId, bytes, type, filename, { ...contentId, label: 'Cid' }, ...wide(disposition, expires, link)],
    empty: 'This email has no attachments.',
  }),
  get: declareDetail('getReceivedAttachment', {
    fields: [fileId, filename, type, disposition, contentId, bytes, link, expires],
  }),
} satisfies Family;
