import { isoTime } from '../../platform/clock/index.ts';
import type { ReceivedAttachmentRow, ReceivedEmailRow } from './received-emails.store.ts';

/** What a list shows of an email; the whole adds to it. */
export function presentReceived(row: ReceivedEmailRow, attachments: readonly ReceivedAttachmentRow[]) {
  return {
    id: row.id,
    to: readList(row.to_list),
    cc: readList(row.cc_list),
    bcc: readList(row.bcc_list),
    reply_to: readList(row.reply_to_list),
    from: row.sender,
    subject: row.subject,
    message_id: row.message_id,
    envelope: { from: row.mail_from, to: readList(row.received_for) },
    dropped_reason: row.dropped_reason,
    created_at: isoTime(row.created_at),
    attachments: attachments.map(presentPart),
  };
}

export const presentPart = (row: ReceivedAttachmentRow) => ({
  id: row.id,
  filename: row.filename,
  content_type: row.content_type,
  content_disposition: row.content_disposition,
  ...(row.content_id === null ? {} : { content_id: row.content_id }),
  size: Number(row.size),
});

export const readList = (json: string | null): string[] => (json === null ? [] : (JSON.parse(json) as string[]));
