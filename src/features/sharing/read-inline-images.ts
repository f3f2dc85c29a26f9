import type { Store } from '../../platform/store/index.ts';
import { contentIdsIn, imageDataUrl } from '../../protocol/safe-html/index.ts';
import { openAttachment, type AttachmentRow } from '../../mail/emails/index.ts';

/** The pictures that an email brings along and shows in place, as data URLs by their content id; `bytesMax` in all. */
export async function readInlineImages(
  store: Store,
  html: string,
  email: { id: string; attachments: readonly AttachmentRow[] },
  bytesMax: number,
): Promise<Map<string, string>> {
  const images = new Map<string, string>();
  const wanted = contentIdsIn(html);
  let left = bytesMax;
  for (const attachment of wanted.size > 0 ? email.attachments : []) {
    const { content_id: contentId, content_type: type, size } = attachment;
    const key = contentId?.replace(/^<|>$/g, '');
    const isReadable = key !== undefined && wanted.has(key) && imageDataUrl(type, NOTHING) !== undefined;
    if (!isReadable || size > left) continue;
    left -= size;
    const content = await openAttachment(store, attachment);
    const url = content && imageDataUrl(type, Buffer.concat((await content.toArray()) as Buffer[]));
    if (url !== undefined) images.set(key, url);
  }
  return images;
}

const NOTHING = Buffer.alloc(0);
