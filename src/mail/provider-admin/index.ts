/**
 * Manual administration of mailbox providers. Shows how mail to each of them goes and what limits it, and lets an operator
 * suspend and resume one. Delivery applies the limits; this only stores them.
 */
export { getProvider, listProviders } from './read-providers.ts';
export { resetProvider, resumeProvider, suspendProvider } from './change-limits.ts';
