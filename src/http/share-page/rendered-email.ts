import type { FairExecutor } from '../../platform/fair-share/index.ts';
import { disarmHtml, embedImages, escapeHtml, linksIn, mayLoadImages } from '../../protocol/safe-html/index.ts';
import type { SharedContent } from '../../resources/shares/index.ts';
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

/** Each step of a body of 2 MB takes some ten milliseconds: with an executor, each is a task of its own. */
export async function renderEmail(
  { html, text, images }: SharedContent,
  executor?: FairExecutor,
): Promise<RenderedEmail> {
  const step = async <T>(work: () => T): Promise<T> => (executor ? executor.run<T>(ANYBODY, work) : work());
  const escapedText = text === null ? undefined : await step(() => Buffer.from(escapeHtml(text)));
  if (html === null) return sized({ frame: undefined, mayLoadImages: false, links: [], text: escapedText });
  const disarmed = await step(() => disarmHtml(html));
  const escaped = await step(() => escapeHtml(disarmed));
  // Images come last: base64 needs no escaping, and there may be megabytes of it.
  const frame = await step(() => Buffer.from(embedImages(escaped, images, INLINE_IMAGE_CHARS_MAX)));
  const read = await step(() => ({ mayLoadImages: mayLoadImages(html), links: linksIn(html, LINKS_MAX) }));
  return sized({ frame, ...read, text: escapedText });
}

const sized = (email: Omit<RenderedEmail, 'bytes'>): RenderedEmail => ({
  ...email,
  bytes: email.links.reduce((sum, link) => sum + link.length, (email.frame?.length ?? 0) + (email.text?.length ?? 0)),
});
