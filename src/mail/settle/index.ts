/**
 * Settle: from the outcomes of a delivery to events, states, suppressions and retries. One exhaustive switch over the outcomes
 * decides, and one over what reports say days later; the same function writes both down. Deliveries that settle at the same
 * time share a transaction.
 */
export { createRefusalCounter } from './refusals.ts';
export { createSettle, settleDropped } from './settle.ts';
export { settleReport, type ReturnedReport } from './settle-report.ts';
