import type { Readable } from 'node:stream';
import { notFound } from '../../platform/refusal.ts';
import type { Store } from '../../platform/store.ts';
import { openContent } from '../contents/index.ts';
import { mayShowContent } from '../../tenancy/usage/index.ts';
import { findReceivedAttachment, findReceivedById } from './received-emails.store.ts';
import { RAW_BLOB, RECEIVED_ATTACHMENT_BLOB } from './stored-content.ts';
import { timingSafeEqual } from 'node:crypto';
import { isoTime } from '../../platform/clock.ts';

/** The file that a link names, and its expiry in seconds. */
interface ReceivedLink {
  emailId: string;
  /** An attachment, or `raw` for the source of the whole email. */
  file: string;
  expires: number;
}

const VALID_SECONDS = 15 * 60;

/** Makes a link. Nothing of it is stored: the signature alone decides whether it is valid. */
export function makeReceivedLink(
  store: Store,
  emailId: string,
  file: string,
): { download_url: string; expires_at: string } {
  const expires = Math.floor(store.clock.now() / 1000) + VALID_SECONDS;
  const below = file === 'raw' ? 'raw' : `attachments/${file}`;
  const query = new URLSearchParams({ expires: String(expires), token: signLink(store, { emailId, file, expires }) });
  return {
    download_url: `${store.origin()}/emails/receiving/${emailId}/${below}/download?${query}`,
    expires_at: isoTime(expires * 1000),
  };
}

function isGoodReceivedLink(store: Store, link: ReceivedLink, token: string): boolean {
  const given = Buffer.from(token);
  const right = Buffer.from(signLink(store, link));
  const isOurs = given.length === right.length && timingSafeEqual(given, right);
  return isOurs && store.clock.now() < link.expires * 1000;
}

/** Signs a link. No part contains a line break, so that no two links have the same signed text. */
function signLink({ secrets }: Store, { emailId, file, expires }: ReceivedLink): string {
  const text = [emailId, file, expires].join('\n');
  return secrets.mac('received mail link', Buffer.from(text)).toString('base64url');
}

/**
 * Types that a browser shows or plays and never runs. Everything else, including HTML and SVG, is sent as plain bytes.
 */
const HARMLESS = new Set([
  'application/gzip',
  'application/json',
  'application/msword',
  'application/pdf',
  'application/rtf',
  'application/vnd.ms-excel',
  'application/vnd.ms-powerpoint',
  'application/vnd.oasis.opendocument.presentation',
  'application/vnd.oasis.opendocument.spreadsheet',
  'application/vnd.oasis.opendocument.text',
  'application/vnd.openxmlformats-officedocument.presentationml.presentation',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  'application/zip',
  'audio/aac',
  'audio/mpeg',
  'audio/ogg',
  'audio/wav',
  'audio/webm',
  'image/avif',
  'image/bmp',
  'image/gif',
  'image/heic',
  'image/jpeg',
  'image/png',
  'image/tiff',
  'image/webp',
  'message/rfc822',
  'text/calendar',
  'text/csv',
  'text/plain',
  'text/vcard',
  'video/mp4',
  'video/mpeg',
  'video/ogg',
  'video/quicktime',
  'video/webm',
]);

const servedType = (contentType: string): string =>
  HARMLESS.has(contentType) ? contentType : 'application/octet-stream';

export interface ReceivedDownload {
  filename: string;
  contentType: string;
  size: number;
  content: Readable;
}

/**
 * Returns the file of a signed link. Throws the same 404 whether the link is forged, expired or of something removed,
 * or the disk has lost the file, since the caller can do nothing about any of it; the log reports a lost file to the
 * operator, who can.
 */
export async function downloadReceived(store: Store, link: ReceivedLink, token: string): Promise<ReceivedDownload> {
  const email = isGoodReceivedLink(store, link, token) ? await findReceivedById(store.db, link.emailId) : undefined;
  const file = email && (await findFile(store, email, link.file));
  if (!email || !file || !(await mayShowContent(store, email.team_id))) throw notFound('File');
  const stored = await openContent(store, file.key, { size: file.size });
  if (!stored) {
    store.log.error({ receivedId: email.id, blob: file.key }, 'a file of a received email is missing');
    throw notFound('File');
  }
  return { filename: file.filename, contentType: file.contentType, ...stored };
}

async function findFile(
  store: Store,
  email: { id: string; has_raw: number },
  file: string,
): Promise<{ key: string; filename: string; contentType: string; size?: number } | undefined> {
  if (file === 'raw') {
    if (email.has_raw === 0) return undefined;
    return { key: RAW_BLOB(email.id), filename: 'raw.eml', contentType: 'message/rfc822' };
  }
  const row = await findReceivedAttachment(store.db, email.id, file);
  if (!row || row.is_stored === 0) return undefined;
  const key = RECEIVED_ATTACHMENT_BLOB(email.id, row.id);
  const contentType = servedType(row.content_type);
  return { key, filename: row.filename ?? 'attachment', contentType, size: Number(row.size) };
}
