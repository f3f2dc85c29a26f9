import { bytesInWords } from './bytes-in-words.ts';
import type { AnswerOf } from '../client/index.ts';
import type { ItemOf } from './family.ts';
import { declareDetail, declareList, wide, withRemaining, type Field } from './family.ts';

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
const expires: Field<Attachment> = { name: 'expires_at', label: 'Expires', kind: 'time' };

export const attachments = withRemaining({
  command: 'attachments',
  summary: 'list and download the attachments of sent emails',
  noun: 'an attachment',
  list: declareList('listAttachments', {
    columns: [id, bytes, type, filename, { ...contentId, label: 'Cid' }, ...wide(disposition, expires, link)],
    empty: 'This email has no attachments.',
  }),
  get: declareDetail('getAttachment', { fields: [id, filename, type, disposition, contentId, bytes, link, expires] }),
});
