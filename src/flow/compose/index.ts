/**
 * Compose: from a stored email to the signed bytes that go over the wire. A message is composed and signed once for all
 * destinations that are under way together, and again for a retry, to the same bytes unless the domain's tracking was
 * changed since. Bcc is never written.
 */
export { createComposer, type Batch, type Composer } from './composer.ts';
export { DomainRemoved } from './signing-domains.ts';
