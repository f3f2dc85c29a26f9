import { nextTurn } from '../../platform/clock/index.ts';
import { disarmHtml, embedImages, escapeHtml, linksIn, mayLoadImages } from '../../protocol/safe-html/index.ts';
import type { SharedContent } from '../../resources/shares/index.ts';

const INLINE_IMAGE_CHARS_MAX = 16 * 1024 * 1024;
const LINKS_MAX = 100;

/** The part of a page that is long to make and never changes: the email's own content, escaped. */
export interface RenderedEmail {
  /** The HTML as it stands in the frame's attribute; undefined where there is none. */
  frame: Buffer | undefined;
  mayLoadImages: boolean;
  /** Addresses that the HTML links to, as they are. */
  links: string[];
  text: Buffer | undefined;
  bytes: number;
}

/** Each step of a body of 2 MB takes some ten milliseconds; whatever else is waiting comes in between. */
export async function renderEmail({ html, text, images }: SharedContent): Promise<RenderedEmail> {
  const escapedText = text === null ? undefined : Buffer.from(escapeHtml(text));
  if (html === null) return sized({ frame: undefined, mayLoadImages: false, links: [], text: escapedText });
  await nextTurn();
  const disarmed = disarmHtml(html);
  await nextTurn();
  const escaped = escapeHtml(disarmed);
  await nextTurn();
  // The pictures come last: base64 needs no escaping, and there may be megabytes of it.
  const frame = Buffer.from(embedImages(escaped, images, INLINE_IMAGE_CHARS_MAX));
  await nextTurn();
  return sized({ frame, mayLoadImages: mayLoadImages(html), links: linksIn(html, LINKS_MAX), text: escapedText });
}

const sized = (email: Omit<RenderedEmail, 'bytes'>): RenderedEmail => ({
  ...email,
  bytes: email.links.reduce((sum, link) => sum + link.length, (email.frame?.length ?? 0) + (email.text?.length ?? 0)),
});
