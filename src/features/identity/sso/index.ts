/**
 * Single sign-on: the OpenID Connect provider of a team, the domains whose addresses it speaks for, and whom a person that it
 * vouches for becomes. What talks to the provider is `flow/sso`. Changed under the lock of the team, as its members are.
 */
export { domainOfAddress, readAddress } from './address.ts';
export { admit, type Admission, type ProviderClaims, type Unadmitted } from './admit.ts';
export { deleteSso, getSso, putSso } from './connection.ts';
export { addSsoDomain, findOwnSsoDomain, PROOF_LABEL, removeSsoDomain, settleSsoDomain } from './domains.ts';
export { readProviderUrl } from './issuer.ts';
export { stopEnforcingSso } from './last-way-out.ts';
export { CALLBACK_PATH, presentSsoDomain, proofNameOf, redirectUriOf, START_PATH } from './present.ts';
export { settleProvenDomain, takeSsoDomain } from './lose-domain.ts';
export { unlinkTeamMember } from './unlink.ts';
