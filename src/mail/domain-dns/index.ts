/**
 * The features that need DNS: `verify/` checks whether a domain's records are published and explains what is wrong with
 * them, and checks a domain against the rules of mailbox providers, `claims/` looks for the proof of a claim, `publish/` compares a zone with what a domain wants, shows the change
 * and makes it through a provider. Publishing touches only records that it published itself and remembers, binds each
 * update to what it has read if the provider supports that, and never stores a credential that a caller brought.
 */
export { recheckClaims, verifyClaim } from './claims/check-claims.ts';
export { configureDomainDns, publishConfigured } from './publish/publish.ts';
export { missingProof, putProof, removeProof, type ProofRecord } from './publish/proof-records.ts';
export { ProviderFault } from './publish/provider.ts';
export { checkRecords } from './verify/check-records.ts';
export { checkSenderRules, getSenderRules } from './verify/check-sender-rules.ts';
export { createDomain, getDomain, sweepDomains, updateDomain, verifyDomain } from './verify/verify-domain.ts';
