import { showEmail, type TextThread } from '../../../platform/text-thread/index.ts';
import type { SharedContent } from '../../../features/sharing/index.ts';
import { ANYBODY } from '../costly-work.ts';

const INLINE_IMAGE_CHARS_MAX = 16 * 1024 * 1024;
const LINKS_MAX = 100;

/** The part of a page that is costly to make and never changes: the email's own content, escaped. */
export interface RenderedEmail {
  /** The HTML as written into the frame's `srcdoc`; undefined for an email without HTML. */
  frame: Buffer | undefined;
  mayLoadImages: boolean;
  /** The URLs that the HTML links to, unchanged. */
  links: string[];
  text: Buffer | undefined;
  bytes: number;
}

/** Renders the parts of a page; with `texts`, those of a large email in the text thread. */
export async function renderEmail({ html, text, images }: SharedContent, texts?: TextThread): Promise<RenderedEmail> {
  const shown = { html, text, images, imageCharsMax: INLINE_IMAGE_CHARS_MAX, linksMax: LINKS_MAX };
  const chars = (html?.length ?? 0) + (text?.length ?? 0);
  const order = { teamId: ANYBODY, chars, task: showEmail, isPatient: true };
  const { frame, text: escaped, ...read } = await (texts ? texts.run(order, shown) : showEmail.work(shown));
  return sized({ ...read, frame: bufferOver(frame), text: bufferOver(escaped) });
}

const bufferOver = (bytes: Uint8Array | undefined): Buffer | undefined =>
  bytes && Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

const sized = (email: Omit<RenderedEmail, 'bytes'>): RenderedEmail => ({
  ...email,
  bytes: email.links.reduce((sum, link) => sum + link.length, (email.frame?.length ?? 0) + (email.text?.length ?? 0)),
});
