/**
 * HTML that strangers wrote, made fit to be shown. It promises that what `disarmHtml` answers has no element beyond a
 * short list of plain ones and no link that leads anywhere, however the text is parsed. It is one wall of three: it
 * does not take out event handlers, inline styles or image addresses, so the result still belongs into a sandboxed
 * frame without scripts, under a policy that loads nothing. What `plainHtml` answers needs no other wall: it may stand in
 * HTML of ours.
 */
export { disarmHtml, plainHtml } from './disarm-html.ts';
export { contentIdsIn, embedImages, imageDataUrl, linksIn, mayLoadImages } from './embed-images.ts';
export { escapeHtml } from './escape-html.ts';
