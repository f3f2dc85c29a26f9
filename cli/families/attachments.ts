import type { Columns } from './columns.ts';
import { declareDetail, declareFamily, declareList, withRemaining, type FieldsOf, type ItemOf } from './family.ts';

/** Attachments of sent and of received emails are alike. */
const fields = { expires_at: 'Expires' } as const satisfies FieldsOf<'listAttachments'>;

const listed = {
  fields: { ...fields, content_id: 'Cid' },
  columns: ['id', 'size', 'content_type', 'filename', 'content_id'],
  wide: ['content_disposition', 'expires_at', 'download_url'],
  empty: 'This email has no attachments.',
} as const satisfies Columns<ItemOf<'listAttachments'>> & { empty: string };

const shown = {
  fields,
  columns: [
    'id',
    'filename',
    'content_type',
    'content_disposition',
    'content_id',
    'size',
    'download_url',
    'expires_at',
  ],
} as const;

export const attachments = withRemaining({
  summary: 'list and download the attachments of sent emails',
  list: declareList('listAttachments', listed),
  get: declareDetail('getAttachment', shown),
});

export const receivedAttachments = declareFamily({
  list: declareList('listReceivedAttachments', listed),
  get: declareDetail('getReceivedAttachment', shown),
});
