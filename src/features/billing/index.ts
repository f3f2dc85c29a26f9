/**
 * Billing: the price of a team's plan, and the invoice of each month. A month of a team is closed once, in one
 * transaction that takes the next number of the series; an issued invoice never changes. `start.ts` handles payments.
 */
export { keepPlanTerms } from './plans.ts';
export { getInvoice, invoiceCsv } from './read-billing.ts';
export { awaitsInvoice } from './close-months.ts';
