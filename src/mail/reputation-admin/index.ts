/**
 * Shows how providers take mail: to an operator by source, provider and sending domain, with what blocklists say of the sources,
 * and to a team for its own domains.
 */
export { getDomainReputation, getReputation, nameProvider } from './read-reputation.ts';
export { listBlocklistStates, type BlocklistState, type CheckReader } from './blocklist-states.ts';
