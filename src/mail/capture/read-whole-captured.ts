import { isUtf8 } from 'node:buffer';
import { NoSuchBlob } from '../../platform/blobs/index.ts';
import { isoTime } from '../../platform/clock/index.ts';
import type { Store } from '../../platform/store/index.ts';
import { readMessage, type MessagePart } from '../../protocol/read-message/index.ts';
import { MESSAGE_BLOB, removeAllCaptured, type CapturedRow } from './captured-messages.store.ts';
import { checkCaptured } from './check-captured.ts';

export const CAPTURED_LIMITS = { depthMax: 100, headerBytesMax: 2 * 1024 * 1024, partsMax: 1000 };

/** Returns a message as the API shows it; undefined where it was removed meanwhile. */
export async function readWholeCaptured(store: Store, row: CapturedRow) {
  const source = await readSource(store, row.id);
  if (!source) return undefined;
  const reading = await readMessage(source, CAPTURED_LIMITS);
  const encoding = isUtf8(source) ? ('utf-8' as const) : ('latin1' as const);
  return {
    object: 'playground_message' as const,
    id: row.id,
    email_id: row.email_id,
    created_at: isoTime(row.created_at),
    envelope: { from: row.mail_from, to: JSON.parse(row.recipients) as string[] },
    from: reading.from,
    to: reading.to,
    cc: reading.cc,
    reply_to: reading.replyTo,
    subject: reading.subject,
    message_id: reading.messageId,
    headers: reading.isRead ? reading.headers : {},
    text: reading.isRead ? reading.text : null,
    html: reading.isRead ? reading.html : null,
    attachments: reading.isRead ? reading.parts.map(presentAttachment) : [],
    authentication: await checkCaptured(store, row, source),
    size: source.length,
    raw: source.toString(encoding),
    raw_encoding: encoding,
    parse_error: reading.isRead ? null : reading.because,
  };
}

async function readSource({ blobs }: Store, id: string): Promise<Buffer | undefined> {
  try {
    return await blobs.get(MESSAGE_BLOB(id));
  } catch (error) {
    if (error instanceof NoSuchBlob) return undefined;
    throw error;
  }
}

const presentAttachment = ({ filename, contentType, disposition, contentId, content }: MessagePart) => ({
  filename,
  content_type: contentType,
  content_disposition: disposition,
  ...(contentId === undefined ? {} : { content_id: contentId }),
  size: content.byteLength,
  content: Buffer.from(content).toString('base64'),
});

const REMOVED_AT_ONCE = 500;

/** Removes everything that was caught, with the sources; returns how many messages that were. */
export async function clearCaptured({ db, blobs }: Store): Promise<number> {
  let count = 0;
  for (;;) {
    const ids = await removeAllCaptured(db, REMOVED_AT_ONCE);
    for (const id of ids) await blobs.remove(id);
    count += ids.length;
    if (ids.length < REMOVED_AT_ONCE) return count;
  }
}
