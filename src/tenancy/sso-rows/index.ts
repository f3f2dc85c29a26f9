/**
 * The rows of single sign-on: the connection of a team, the domains that it has proven, the provider's identities of
 * people, and the sign-ins that were completed. The rules are in `sso`; sessions, members and teams read here whether a
 * team requires it.
 */
import type { SealedColumn } from '../../platform/secrets/index.ts';

export {
  changeConnection,
  clearProviderFault,
  connectionById,
  connectionOfClient,
  connectionsOfLogout,
  connectionsInUse,
  listConnections,
  findConnection,
  insertConnection,
  isEnforced,
  noteNotAdmitted,
  noteProviderFault,
  noteTested,
  removeConnection,
  stopEnforcing,
  type ConnectionRow,
  type ProviderStep,
  connectionOfDomain,
  findSsoDomain,
  insertSsoDomain,
  loseProof,
  ownerOfDomain,
  provenDomains,
  listProvenDomains,
  removeSsoDomain,
  removeSsoDomains,
  saveDomainCheck,
  listSsoDomains,
  type SsoDomainRow,
  identityOfSubject,
  identityOfUser,
  insertIdentity,
  peopleOfSso,
  removeIdentity,
  setSubject,
  type IdentityRow,
  hasAnswer,
  noteAnswer,
  removeAnswersBefore,
} from './sso.store.ts';
export { deriveSsoStatus, type SsoStatus } from './status.ts';

export const SEALED_SSO_SECRETS: SealedColumn = {
  table: 'sso_connections',
  column: 'client_secret',
  purpose: 'sso client secret',
};
