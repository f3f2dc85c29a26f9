import { Readable } from 'node:stream';
import type { Store } from '../../platform/store/index.ts';
import { transferDecoder } from '../../protocol/mime-read/index.ts';
import { openContent } from '../contents/index.ts';
import { ATTACHMENT_BLOB } from './email-bodies.ts';
import { findMessage, MESSAGE_BLOB } from './email-messages.store.ts';
import type { AttachmentRow } from './emails.store.ts';

/** A file of an email, as it is stored, or decoded out of the message that its client composed; undefined if it is gone. */
export async function openAttachment(store: Store, row: AttachmentRow): Promise<Readable | undefined> {
  const { email_id: emailId, id, size, message_start: start, message_end: end, message_encoding: encoding } = row;
  if (start === null || end === null)
    return (await openContent(store, ATTACHMENT_BLOB(emailId, id), { size: Number(size) }))?.content;
  const encoded = await openMessage(store, emailId, { start, end });
  return encoded && Readable.from(decode(encoded, encoding ?? ''), { objectMode: false });
}

async function openMessage(
  store: Store,
  emailId: string,
  range: { start: number; end: number },
): Promise<AsyncIterable<Buffer> | undefined> {
  const message = await findMessage(store.db, emailId);
  if (!message) return undefined;
  const { start, end } = range;
  if (message.body !== null) return Readable.from([Buffer.from(message.body.slice(start, end), 'latin1')]);
  if (end <= start) return Readable.from([]);
  const size = Number(message.body_bytes);
  return (await openContent(store, `${emailId}/${MESSAGE_BLOB}`, { range, size }))?.content;
}

async function* decode(encoded: AsyncIterable<Buffer>, encoding: string): AsyncIterable<Buffer> {
  const decoder = transferDecoder(encoding);
  for await (const piece of encoded) yield decoder.update(piece);
  yield decoder.end();
}
