/**
 * Billing: what a team's plan costs, and the invoice of each month. A month of a team is closed once, in one transaction that
 * takes the next number of the series; an issued invoice is never written again. It knows no payments: see `features/billing`.
 */
export { keepPlanTerms } from './plans.ts';
export { getInvoice, invoiceCsv } from './read-billing.ts';
