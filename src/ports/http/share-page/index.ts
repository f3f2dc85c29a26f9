/**
 * The page that a share link leads to: one email, read-only, for people without an account. It runs no script, loads
 * nothing from other hosts until the reader asks for remote images, and never shows the bcc recipients.
 */
export {
  getSharePage,
  sharePageHeaders,
  renderEmail,
  renderedOnce,
  renderViewPage,
  wordsFor,
  type RenderedEmail,
  renderContent,
  bytesInWords,
  stateInWords,
  timeInWords,
} from './share-page.ts';
export { getPreviewPage } from './preview-page.ts';
