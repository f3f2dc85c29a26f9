import type { Store } from '../../platform/store/index.ts';
import { contentIdsIn, embedImages, imageDataUrl } from '../../protocol/safe-html/index.ts';
import { readContent } from '../contents/index.ts';
import type { ReceivedAttachmentRow } from './received-emails.store.ts';
import { RECEIVED_ATTACHMENT_BLOB } from './stored-content.ts';

/** Of all pictures of an email together: an answer is held in memory as a whole. */
const IMAGE_BYTES_MAX = 10 * 1024 * 1024;
const HTML_CHARS_MAX = 2 * IMAGE_BYTES_MAX;
const NOTHING = Buffer.alloc(0);

/** `html` with the pictures that the email brings along in the place of their `cid:` URLs, as far as they go. */
export async function withInlineImages(
  store: Store,
  html: string,
  attachments: readonly ReceivedAttachmentRow[],
): Promise<string> {
  const images = new Map<string, string>();
  const wanted = contentIdsIn(html);
  let left = IMAGE_BYTES_MAX;
  for (const {
    id,
    received_id: emailId,
    content_id: key,
    content_type: type,
    size,
    is_stored: isStored,
  } of attachments) {
    const isShown = key !== null && isStored === 1 && wanted.has(key) && imageDataUrl(type, NOTHING) !== undefined;
    if (!isShown || Number(size) > left) continue;
    left -= Number(size);
    const url = imageDataUrl(type, await readContent(store, RECEIVED_ATTACHMENT_BLOB(emailId, id)));
    if (url !== undefined) images.set(key, url);
  }
  return embedImages(html, images, HTML_CHARS_MAX);
}
