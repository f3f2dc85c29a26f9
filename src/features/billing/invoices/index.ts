/**
 * Billing: what a team's plan costs, and the invoice of each month. A month of a team is closed once, in one transaction that
 * takes the next number of the series; an issued invoice is never written again. It knows no payments: see `flow/billing`.
 */
export { changeOwnPlan } from './change-own-plan.ts';
export { billingZone, closeTeamMonth } from './close-team-month.ts';
export { allTerms, closedMonths, insertClosedMonth, teamsToClose } from './billing.store.ts';
export { excessOf } from './excess.ts';
export { invoiceCsv } from './invoice-csv.ts';
export { closableAt, daysOf, monthAfter, monthAt } from './month.ts';
export { keepPlanTerms } from './plan-terms.ts';
export { getBilling, getInvoice, listInvoices, listPlans } from './read-billing.ts';
export { markEventRead, noteEvent, removeEventsBefore } from './payment-events.store.ts';
export {
  countQuestion,
  findSubscription,
  noteMissed,
  overdueSubscriptions,
  writeAnswer,
  type SubscriptionRow,
  type SubscriptionStatus,
} from './subscriptions.store.ts';
