/** The clocks of places, by the data on time zones that Node.js brings along: what they show, and when they show it. */
export { findTimeZone, type TimeZone } from './time-zone.ts';
