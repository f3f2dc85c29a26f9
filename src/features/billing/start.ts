/**
 * Billing beyond one transaction: months are closed by the clock, team by team, and a payment provider is asked how a
 * subscription stands. It promises that a month closes once, however often and by however many it is begun.
 */
export { closeMonths } from './close-months.ts';
export {
  forgetPaymentEvents,
  noPayments,
  recheckSubscriptions,
  takeEvent,
  type PaymentProvider,
} from './subscriptions.ts';
