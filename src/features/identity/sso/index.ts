/**
 * Single sign-on: the OpenID Connect provider of a team, the domains whose addresses it speaks for, and whom a person that it
 * vouches for becomes. What talks to the provider is `features/identity/sso-sign-in`. Changed under the lock of the team, as its members are.
 */
export { domainOfAddress, readAddress, admit, type Admission, type ProviderClaims, type Unadmitted } from './admit.ts';
export {
  deleteSso,
  getSso,
  putSso,
  readProviderUrl,
  stopEnforcingSso,
  CALLBACK_PATH,
  presentSsoDomain,
  proofNameOf,
  redirectUriOf,
  START_PATH,
  unlinkTeamMember,
} from './sso-connection.ts';
export {
  addSsoDomain,
  findOwnSsoDomain,
  PROOF_LABEL,
  removeSsoDomain,
  settleSsoDomain,
  settleProvenDomain,
  takeSsoDomain,
} from './sso-domains.ts';
