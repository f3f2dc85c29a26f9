/**
 * What needs DNS: `verify/` asks whether a domain's records stand and says what is wrong with them, `claims/` looks for the
 * proof of a claim, `publish/` compares a zone with what a domain wants, shows the change and makes it through a provider.
 * Publishing touches only records that it published itself and remembers, binds each update to what it has read where the
 * provider can, and never stores a credential that a caller brought.
 */
export { recheckClaims } from './claims/recheck-claims.ts';
export { verifyClaim } from './claims/verify-claim.ts';
export { configureDomainDns } from './publish/configure-domain-dns.ts';
export { missingProof, putProof, removeProof, type ProofRecord } from './publish/proof-records.ts';
export { ProviderFault } from './publish/provider.ts';
export { publishConfigured } from './publish/publish-configured.ts';
export { createDomain } from './verify/create-domain.ts';
export { getDomain } from './verify/get-domain.ts';
export { sweepDomains } from './verify/sweep-domains.ts';
export { updateDomain } from './verify/update-domain.ts';
export { verifyDomain } from './verify/verify-domain.ts';
