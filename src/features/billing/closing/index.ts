/**
 * Billing beyond one transaction: months are closed by the clock, team by team, and a payment provider is asked how a
 * subscription stands. It promises that a month closes once, however often and by however many it is begun.
 */
export { closeMonths } from './close-months.ts';
export {
  noPayments,
  type EventRequest,
  type PaymentProvider,
  type ProviderEvent,
  type ProviderSubscription,
  readSubscription,
  recheckSubscriptions,
  forgetPaymentEvents,
  takeEvent,
} from './subscriptions.ts';
