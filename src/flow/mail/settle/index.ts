/**
 * Settle: from what came out of a delivery to what everybody can read. One exhaustive switch over the outcomes decides
 * events, states, suppressions and retries; all of it is one transaction, shared with whatever else settles just then.
 */
export { createSettle, settleDropped } from './settle.ts';
export { settleReport, type ReturnedReport } from './settle-report.ts';
