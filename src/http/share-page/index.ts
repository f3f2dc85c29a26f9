/**
 * The page behind a share link: one email, read-only, for people without an account. It runs no script, loads nothing
 * from elsewhere until remote images are asked for, and never shows who stands in bcc.
 */
export { getSharePage } from './get-share-page.ts';
