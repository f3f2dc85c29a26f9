/**
 * Makes untrusted HTML safe to show. The result of `disarmHtml` has no element beyond a short list of plain ones and no
 * link that leads anywhere, however the text is parsed. It is one of three defenses: it does not remove event handlers,
 * inline styles or image addresses, so the result must be shown in a sandboxed frame without scripts, under a policy
 * that loads nothing. The result of `plainHtml` needs no other defense: it can be embedded in our HTML.
 */
export { closeDrawings, disarmHtml, plainHtml } from './disarm-html.ts';
export { contentIdsIn, embedImages, imageDataUrl, linksIn, mayLoadImages } from './embed-images.ts';
export { escapeHtml } from './escape-html.ts';
