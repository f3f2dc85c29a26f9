/**
 * Manual administration of the sources that mail leaves by. Shows their state and how receivers take their mail, and lets an
 * operator warm one up. Delivery applies the limits; this only stores them.
 */
export { getSource, getWarmUp, listSources, listUsedSources, type FaultReader } from './read-sources.ts';
export { continueWarmUp, pauseWarmUp, startWarmUp, stopWarmUp } from './change-warm-up.ts';
