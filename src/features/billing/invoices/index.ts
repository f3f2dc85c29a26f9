/**
 * Billing: what a team's plan costs, and the invoice of each month. A month of a team is closed once, in one transaction that
 * takes the next number of the series; an issued invoice is never written again. It knows no payments: see `features/billing/closing`.
 */
export { changeOwnPlan, excessOf, keepPlanTerms } from './plans.ts';
export { billingZone, closeTeamMonth, closableAt, daysOf, monthAfter, monthAt } from './monthly-invoice.ts';
export { allTerms, closedMonths, insertClosedMonth, teamsToClose } from './billing.store.ts';
export { invoiceCsv, getBilling, getInvoice, listInvoices, listPlans } from './read-billing.ts';
export {
  markEventRead,
  noteEvent,
  removeEventsBefore,
  countQuestion,
  findSubscription,
  noteMissed,
  overdueSubscriptions,
  writeAnswer,
  type SubscriptionRow,
  type SubscriptionStatus,
} from './subscriptions.store.ts';
