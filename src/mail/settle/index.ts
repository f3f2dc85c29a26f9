/**
 * Settle: from the outcomes of a delivery to events, states, suppressions and retries. One exhaustive switch decides
 * about outcomes, and one about the contents of reports days later; the same function records both. Deliveries that
 * settle at the same time share a transaction.
 */
export { createRefusalCounter } from './refusals.ts';
export { createSettle, settleDropped } from './settle.ts';
export { settleReport, type ReturnedReport } from './settle-report.ts';
