import { renderDocument } from './document.ts';

/** The same for links that never were, are over, or were revoked. */
export const renderNoSharePage = (): string =>
  renderDocument(
    'Link not found',
    `<main><h1>This link does not work</h1>
<p>It may have expired, or somebody may have revoked it. Ask the person who gave it to you for a new one.</p></main>`,
  );
