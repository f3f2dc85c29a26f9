/**
 * Compose: from a stored email to the signed bytes that go over the wire. A message is composed and signed once for all
 * destinations that are under way together, and again, to the same bytes, for a retry. Bcc is never written.
 */
export { createComposer, type Batch, type Composer } from './composer.ts';
export { DomainRemoved } from './signing-domains.ts';
