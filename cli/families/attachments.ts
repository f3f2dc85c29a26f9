import { bytesInWords } from './bytes-in-words.ts';
import type { AnswerOf } from '../client/index.ts';
import type { ItemOf } from './family.ts';
import { detailOf, listOf, wide, type Family, type Field, type Key } from './family.ts';

const EMAIL: Key = { word: 'email', says: 'the id of the email' };
const ATTACHMENT: Key = { word: 'attachment', says: 'the id of the attachment (att_…)' };

type Attachment = ItemOf<'listAttachments'> | AnswerOf<'getAttachment'>;

const id: Field<Attachment> = { name: 'id', label: 'Id', kind: 'id' };
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
const expires: Field<Attachment> = { name: 'expires_at', label: 'Good until', kind: 'time' };

export const attachments = {
  command: 'attachments',
  summary: 'the files that were sent with an email',
  noun: 'an attachment',
  list: listOf('listAttachments', {
    summary: 'list the attachments of an email, in their order',
    example: 'attachments list 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e77',
    path: { email_id: EMAIL },
    columns: [id, bytes, type, filename, { ...contentId, label: 'Cid' }, ...wide(disposition, expires, link)],
    empty: 'It has no attachments.',
  }),
  get: detailOf('getAttachment', {
    summary: 'show one attachment and a link to it that is good for 15 minutes',
    example: 'attachments get 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e77 att_019a9c1e7d527c3a9a540b8f4c1f2e05',
    path: { email_id: EMAIL, attachment_id: ATTACHMENT },
    fields: [id, filename, type, disposition, contentId, bytes, link, expires],
  }),
} satisfies Family;
