/**
 * The page behind a share link: one email, read-only, for people without an account. It runs no script, loads nothing
 * from other hosts until the reader asks for remote images, and never shows the bcc recipients.
 */
export { getSharePage } from './get-share-page.ts';
export { sharePageHeaders } from './headers.ts';
export { renderEmail, type RenderedEmail } from './rendered-email.ts';
export { renderContent } from './share-page.ts';
export { bytesInWords, stateInWords, timeInWords } from './words.ts';
