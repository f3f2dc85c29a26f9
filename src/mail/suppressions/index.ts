/**
 * Suppressions: addresses a team's mail does not go to, by its own word, a bounce or a complaint. Addresses are
 * compared without letter case. Asked by every claim; adding an address twice changes nothing.
 */
export {
  addSuppressions,
  createSuppression,
  getSuppression,
  listSuppressions,
  suppressedNow,
  deleteSuppression,
  removeSuppressions,
  suppress,
  type NewSuppression,
} from './suppressions.ts';
export { suppressionsAmong } from './suppressions.store.ts';
