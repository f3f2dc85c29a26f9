/**
 * Settle: from the outcomes of a delivery to events, states, suppressions and retries. One exhaustive switch over the outcomes
 * decides; everything is written in one transaction, shared with other deliveries that settle at the same time.
 */
export { createSettle, settleDropped } from './settle.ts';
export { settleReport, type ReturnedReport } from './settle-report.ts';
