import type { BlobLink, NewBlob } from '../../platform/blobs/index.ts';
import { batchConcurrentCalls, type Executor } from '../../platform/db/index.ts';
import type { Store } from '../../platform/store.ts';
import { readContent, sizeOfContent, openContent } from '../contents/index.ts';
import { openSharedBody, type OpenedBody } from '../shared-bodies/index.ts';
import {
  bodyRowsByIds,
  findMessage,
  MESSAGE_BLOB,
  storedSizes,
  type BodyRow,
  type AttachmentRow,
} from './emails.store.ts';
import type { EmailDraft } from './read-email-input.ts';
import { Readable } from 'node:stream';
import { transferDecoder } from '../../protocol/mime-read/index.ts';

export interface EmailBody {
  html: string | null;
  text: string | null;
}

/** A body that many emails share, with the values of one recipient, as JSON (`SharedValues`). */
export interface SharedBody {
  bodyId: string;
  values: string;
}

const HTML_BLOB = 'html';
const TEXT_BLOB = 'text';
export const ATTACHMENT_BLOB = (emailId: string, attachmentId: string): string => `${emailId}/${attachmentId}`;

/**
 * Builds the row of a body. A text or HTML larger than the setting is not in the row, which records for each where it
 * is.
 */
export function bodyRow(store: Store, emailId: string, body: EmailBody): BodyRow {
  const isLarge = (text: string | null): boolean =>
    text !== null && Buffer.byteLength(text) > store.config.storage.inline_bytes;
  return {
    email_id: emailId,
    html: isLarge(body.html) ? null : body.html,
    text: isLarge(body.text) ? null : body.text,
    html_in_blob: isLarge(body.html) ? 1 : 0,
    text_in_blob: isLarge(body.text) ? 1 : 0,
    shared_body_id: null,
    merge_values: null,
  };
}

/** Builds the row of an email that shares its body. */
export const sharedBodyRow = (emailId: string, { bodyId, values }: SharedBody): BodyRow => ({
  email_id: emailId,
  html: null,
  text: null,
  html_in_blob: 0,
  text_in_blob: 0,
  shared_body_id: bodyId,
  merge_values: values,
});

/** Lists all contents of an email that are not in its own rows, except for files that are stored already. */
export function buildBlobs(row: BodyRow, draft: EmailDraft, attachments: readonly { id: string }[]): NewBlob[] {
  const id = row.email_id;
  const contents: NewBlob[] = draft.attachments.flatMap(({ content, stored }, i) =>
    stored ? [] : [{ key: ATTACHMENT_BLOB(id, attachments[i]?.id ?? ''), content }],
  );
  if (row.html_in_blob) contents.push({ key: `${id}/${HTML_BLOB}`, content: Buffer.from(draft.html ?? '') });
  if (row.text_in_blob) contents.push({ key: `${id}/${TEXT_BLOB}`, content: Buffer.from(draft.text ?? '') });
  return contents;
}

/** Links the files that are stored already, under the keys that they have as files of this email. */
export const buildBlobLinks = (
  emailId: string,
  draft: EmailDraft,
  attachments: readonly { id: string }[],
): BlobLink[] =>
  draft.attachments.flatMap(({ stored }, i) =>
    stored ? [{ from: stored.blob, to: ATTACHMENT_BLOB(emailId, attachments[i]?.id ?? '') }] : [],
  );

/**
 * Loads the bodies of many emails in one statement. Those that are not in their rows are read one after the other, in
 * the order of the ids, until `charsMax` is exceeded: the remaining ones are left out, but never the first.
 */
export async function loadBodies(
  store: Store,
  db: Executor,
  emailIds: readonly string[],
  charsMax = Number.POSITIVE_INFINITY,
): Promise<Map<string, EmailBody>> {
  const bodies = new Map<string, EmailBody>();
  if (emailIds.length === 0) return bodies;
  const rows = new Map((await bodyRowsByIds(db, emailIds)).map((row) => [row.email_id, row]));
  let chars = 0;
  for (const id of emailIds) {
    const row = rows.get(id);
    if (!row) continue;
    const { html, text } = await loadBody(store, db, row);
    chars += (html?.length ?? 0) + (text?.length ?? 0);
    if (chars > charsMax && bodies.size > 0) break;
    bodies.set(id, { html, text });
  }
  return bodies;
}

/** A body before it is read, and its size in bytes; for a shared body, the upper bound. */
export interface StoredBody {
  htmlBytes: number;
  textBytes: number;
  load(): Promise<EmailBody>;
}

export async function findBody(store: Store, db: Executor, emailId: string): Promise<StoredBody | undefined> {
  const [row] = await bodyRowsByIds(db, [emailId]);
  return row && storedBody(store, db, row);
}

/** Rows read at a time: each is as large as `storage.inline_bytes` permits. */
const ROWS_AT_ONCE = 32;

/** Finds bodies for concurrent callers: on a database server, the calls of one moment share one query. */
export function createBodyFinder(store: Store): (emailId: string) => Promise<StoredBody | undefined> {
  const { db } = store;
  if (db.dialect === 'sqlite') return (emailId) => findBody(store, db, emailId);
  const findRow = batchConcurrentCalls<string, BodyRow | undefined>(async (ids) => {
    const parts = Array.from({ length: Math.ceil(ids.length / ROWS_AT_ONCE) }, (_, at) =>
      bodyRowsByIds(db, ids.slice(at * ROWS_AT_ONCE, (at + 1) * ROWS_AT_ONCE)),
    );
    const rows = new Map((await Promise.all(parts)).flat().map((row) => [row.email_id, row]));
    return ids.map((id) => rows.get(id));
  });
  return async (emailId) => {
    const row = await findRow(emailId);
    return row && storedBody(store, db, row);
  };
}

async function storedBody(store: Store, db: Executor, row: BodyRow): Promise<StoredBody> {
  const { email_id: emailId } = row;
  if (row.shared_body_id !== null) {
    const { htmlBytes, textBytes, render } = await openBody(store, db, row, row.shared_body_id);
    return { htmlBytes, textBytes, load: () => Promise.resolve(render()) };
  }
  const loadSize = (name: string): Promise<number> => sizeOfContent(store, `${emailId}/${name}`);
  return {
    htmlBytes: row.html_in_blob ? await loadSize(HTML_BLOB) : Buffer.byteLength(row.html ?? ''),
    textBytes: row.text_in_blob ? await loadSize(TEXT_BLOB) : Buffer.byteLength(row.text ?? ''),
    load: () => loadBody(store, db, row),
  };
}

async function loadBody(store: Store, db: Executor, row: BodyRow): Promise<EmailBody> {
  if (row.shared_body_id !== null) return (await openBody(store, db, row, row.shared_body_id)).render();
  const html = row.html_in_blob ? await readText(store, row.email_id, HTML_BLOB) : row.html;
  const text = row.text_in_blob ? await readText(store, row.email_id, TEXT_BLOB) : row.text;
  return { html, text };
}

async function openBody(store: Store, db: Executor, row: BodyRow, sharedId: string): Promise<OpenedBody> {
  const body = await openSharedBody(store, db, sharedId, row.merge_values ?? '{"given":{}}');
  if (!body) throw new Error(`shared body ${sharedId} of email ${row.email_id} is missing`);
  return body;
}

/**
 * Configuration may allow long texts in rows, so their length is checked as well; what is not in a row is large by that
 * setting.
 */
const LARGE_CHARS = 64 * 1024;

export async function isLargeBody(db: Executor, emailId: string): Promise<boolean> {
  const [row] = await bodyRowsByIds(db, [emailId]);
  if (!row) return false;
  // It is rendered before it is shown.
  if (row.shared_body_id !== null) return true;
  return row.html_in_blob + row.text_in_blob > 0 || (row.html?.length ?? 0) + (row.text?.length ?? 0) > LARGE_CHARS;
}

const readText = async (store: Store, emailId: string, name: string): Promise<string> =>
  (await readContent(store, `${emailId}/${name}`)).toString('utf8');

/**
 * Bytes of each of these emails as they are stored: the message that its client composed, or else its texts and files; of
 * a body that many emails share, without the values of one recipient.
 */
export async function emailSizes(store: Store, emailIds: readonly string[]): Promise<Map<string, number>> {
  const rows = await storedSizes(store.db, emailIds);
  const sizes = rows.map(async (row): Promise<[string, number]> => {
    const long = [...(row.html_in_blob ? [HTML_BLOB] : []), ...(row.text_in_blob ? [TEXT_BLOB] : [])];
    const beside = await Promise.all(long.map((name) => sizeOfContent(store, `${row.email_id}/${name}`)));
    return [row.email_id, beside.reduce((sum, bytes) => sum + bytes, row.bytes)];
  });
  return new Map(await Promise.all(sizes));
}

/**
 * Opens a file of an email as it is stored, or decodes it from the message that its client composed; undefined if it is
 * gone.
 */
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
