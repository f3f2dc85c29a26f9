/**
 * The page behind a share link: one email, read-only, for people without an account. It runs no script, loads nothing
 * from elsewhere until remote images are asked for, and never shows who stands in bcc.
 */
export { renderedOnce } from './rendered-pages.ts';
export { sharePageHeaders } from './headers.ts';
export { renderNoSharePage } from './no-share-page.ts';
export { INLINE_IMAGE_BYTES_MAX, renderShareEnd, renderSharePage, type SharePage } from './share-page.ts';
