/**
 * Suppressions: addresses a team's mail does not go to, by its own word, a bounce or a complaint. Addresses are
 * compared without letter case. Asked by every claim; adding an address twice changes nothing.
 */
export { addSuppressions, createSuppression } from './add-suppressions.ts';
export { getSuppression, listSuppressions, suppressedNow } from './read-suppressions.ts';
export { deleteSuppression, removeSuppressions } from './remove-suppressions.ts';
export { suppress, type NewSuppression } from './suppress.ts';
export { suppressionsAmong } from './suppressions.store.ts';
