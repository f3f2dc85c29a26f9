/**
 * Audit: who changed what, when and from where. No entry is written by hand: the code that is about to make a change
 * gets a store that adds the entry to the transaction of the change, so that neither exists without the other. The
 * contract marks the audited operations (`x-service-audit`).
 */
export { audited, type Audited, type AuditNote } from './audited-store.ts';
export { removeAuditBefore } from './audit.store.ts';
export { describeActor, listAudit, listOperatorAudit } from './audit-log.ts';
