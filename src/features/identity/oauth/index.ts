/**
 * OAuth 2.1: apps of others register, a person lets them in for a team (consent), and they come with access tokens. A grant
 * acts for its person in one membership: what an access token rests on is read with every use. A code and a refresh token
 * work once; one that is shown again ends the grant. Only hashes of tokens are kept.
 */
export { ACCESS_PREFIX, createGrantAuthentication } from './authenticate-grant.ts';
export { readAuthorization, type Asked } from './authorization.ts';
export { answerConsent, askForConsent, type Ask } from './consent.ts';
export { exchangeToken } from './exchange-token.ts';
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
} from './grants.ts';
export { deleteClient, getClient, replaceClient } from './manage-client.ts';
export { authorizationServer, protectedResource } from './metadata.ts';
export { describable, OauthRefusal } from './oauth-refusal.ts';
export { countSends } from './grants.store.ts';
export { changedLimits, EMAILS_MAX, readStored, UNLIMITED, type Limited, type LimitsAsked } from './limits.ts';
export { findOwnGrant, limitOwnGrant, listOwnGrants, revokeOwnGrant } from './own-grants.ts';
export { disableOauthClient, enableOauthClient, listOauthClients } from './operator-clients.ts';
export { registerClient } from './register-client.ts';
export { removeExpiredOauth, removeUnusedOauth } from './remove-expired.ts';
export { revokeToken } from './revoke-token.ts';
