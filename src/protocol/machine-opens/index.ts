/**
 * Tells the opens and clicks of machines from those of people: mail gateways that look into a mail, programs that fetch
 * ahead of a reader, robots. It knows requests and times alone, and no network: addresses of gateways change too often.
 */
export { burstsAmong, type TimedClick, isMachineFetch, isSoonAfterArrival, type Arrival } from './machine-opens.ts';
