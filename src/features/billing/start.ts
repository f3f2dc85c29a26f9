/**
 * Billing jobs: closes months by the clock, team by team, and asks a payment provider for the state of subscriptions. A
 * month is closed once, however often and by however many processes it is begun.
 */
export { closeMonths } from './close-months.ts';
export {
  forgetPaymentEvents,
  noPayments,
  recheckSubscriptions,
  takeEvent,
  type PaymentProvider,
} from './subscriptions.ts';
