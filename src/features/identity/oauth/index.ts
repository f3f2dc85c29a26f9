/**
 * OAuth 2.1: apps of others register, a person lets them in for a team (consent), and they come with access tokens. A grant
 * acts for its person in one membership: what an access token rests on is read with every use. A code and a refresh token
 * work once; one that is shown again ends the grant. Only hashes of tokens are kept.
 */
export {
  ACCESS_PREFIX,
  createGrantAuthentication,
  exchangeToken,
  removeExpiredOauth,
  removeUnusedOauth,
  revokeToken,
} from './tokens.ts';
export {
  readAuthorization,
  type Asked,
  answerConsent,
  askForConsent,
  type Ask,
  findOwnGrant,
  limitOwnGrant,
  listOwnGrants,
  revokeOwnGrant,
} from './consent.ts';
export {
  actorOfGrant,
  endAllTokens,
  limitOauthGrant,
  listOauthGrants,
  nameOfGrant,
  revokeGrantsInTeam,
  revokeGrantsOfMember,
  revokeGrantsOfUser,
  revokeOauthGrant,
  changedLimits,
  EMAILS_MAX,
  readStored,
  UNLIMITED,
  type Limited,
  type LimitsAsked,
} from './grants.ts';
export {
  deleteClient,
  getClient,
  replaceClient,
  disableOauthClient,
  enableOauthClient,
  listOauthClients,
  registerClient,
} from './clients.ts';
export { authorizationServer, protectedResource } from './client-metadata.ts';
export { describable, OauthRefusal } from './parameters.ts';
export { countSends } from './grants.store.ts';
