import { scanHtml, type StartTag } from './scan-html.ts';

/** Every start tag that a browser would see. */
export function startTagsOf(html: string): StartTag[] {
  const tags: StartTag[] = [];
  scanHtml(html, (tag) => tags.push(tag));
  return tags;
}

/** Where something can be added that is to be seen behind everything else. */
export const endOfBody = (html: string): number => scanHtml(html).pixelAt;
