/** The TLS policies of recipients' domains: MTA-STS (RFC 8461) and DANE (RFC 7672). */
export { createTlsPolicies, type RecipientPolicies } from './tls-policies.ts';
export { listStalePolicies } from './sts-policies.store.ts';
export { createStsPolicies, fetchStsPolicy, type StsPolicies } from './sts-policies.ts';
