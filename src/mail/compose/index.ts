/**
 * Compose: from a stored email to the signed bytes that are sent. A message is composed and signed once for all
 * destinations that are under way together, and again for a retry, to the same bytes unless the domain's tracking has
 * changed. A key that is taken out of use signs nothing more, not even mail under way. Bcc is never written.
 */
export { type Batch, createComposer, type Composer } from './batch.ts';
export { ContentChanged } from './pieces.ts';
export { DomainRemoved, DomainUnverified, KeysChanged } from './signing-domains.ts';
export { trackHtml, type TrackingLinks } from './track-html.ts';
