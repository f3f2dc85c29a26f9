/**
 * Audit: who changed what, when and from where. No entry is written by hand: the code that is about to make a change is handed a
 * store that adds the entry to the transaction of the change, so that there is never one without the other. Which
 * operations are audited stands in the contract (`x-service-audit`).
 */
export { audited, type Audited, type AuditNote } from './audited-store.ts';
export { removeAuditBefore } from './audit.store.ts';
export { whoActed, listAudit, listOperatorAudit } from './audit-log.ts';
