import { readingStyle, renderDocument } from '../layout/index.ts';

/** The same page for links that never existed, have expired, or were revoked. */
export const renderNoSharePage = (): string =>
  renderDocument(
    'Link not found',
    `<main><h1>This link does not work</h1>
<p>It may have expired, or somebody may have revoked it. Ask the person who gave it to you for a new one.</p></main>`,
    readingStyle,
  );

/** For a valid link, while too many others are being opened. */
export const renderBusyPage = (): string =>
  renderDocument(
    'Try again soon',
    `<main><h1>Too many shared emails are being opened just now</h1>
<p>The link works. Open it again in a few seconds.</p></main>`,
    readingStyle,
  );
