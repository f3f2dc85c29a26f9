/**
 * Suppressions: addresses to which a team's mail is not sent, because the team, a bounce or a complaint added them.
 * Addresses are compared without letter case. Every claim reads them; adding an address twice changes nothing.
 */
export {
  addSuppressions,
  createSuppression,
  getSuppression,
  listSuppressions,
  suppressedNow,
  deleteSuppression,
  noteLiftedSuppressions,
  removeSuppressions,
  suppress,
  type NewSuppression,
} from './suppressions.ts';
export { findByKeys as findSuppressions, suppressionsAmong, type SuppressionRow } from './suppressions.store.ts';
