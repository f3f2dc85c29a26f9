/**
 * Accounts: how a person gets one and chooses a password anew. Requests are noted without looking anything up; whether an address
 * has an account is found out where their mails are written, and told to its mailbox alone. Of a token only a hash is kept.
 */
export { accountSender, forgetAccountRequests } from './accounts/account-mails.ts';
export { removeAllAccountRequests } from './accounts/accounts.store.ts';
export { makePasswordReset, tell } from './accounts/passwords.ts';
export { firstPasswordToken } from './accounts/sign-up.ts';

/**
 * Approvals: calls of apps that a person decides on first. A call is held as it came, once; an approval makes it, once,
 * with the rights of the app. What a call only names is looked at again, so that people approve only the content they saw.
 */
export {
  expireAllApprovals,
  mustLeaveWhatWaits,
  proposeCall,
  removeOldApprovals,
  type Maker,
} from './approvals/approvals.ts';
export { isOwnWork } from './approvals/proposed-call.ts';

/**
 * Device logins: a program asks for a code, its person approves that in a browser, and the program is handed a session of its
 * own, once. Of both codes only hashes are kept. What begins is a copy of the session in which it was approved, and begins
 * only while that one lives.
 */
export { removeAllDeviceLogins } from './device-logins/device-logins.store.ts';
export { DEVICE_PATH, removeExpiredDeviceLogins } from './device-logins/device-logins.ts';

/**
 * Invitations: an address is asked into a team, in a role, by mail. Of the token only a hash is kept. It works once, for
 * seven days, and only for the person who is signed in with that address and has verified it, or makes an account of it.
 */
export { removeAllOpenInvitations } from './invitations/invitations.store.ts';
export {
  forgetInvitations,
  inviteByOperator,
  lookAtInvitation,
  type ShownInvitation,
} from './invitations/invitations.ts';

/**
 * The second factor of a person: an authenticator app, and recovery codes for when it is lost. Its secret is sealed with the
 * instance key, and of recovery codes only hashes are kept. A code is taken once, however many ask at the same time on whichever
 * node. What is entered wrong is counted before it is looked at. Signing in with it stands in `sessions`.
 */
export { SEALED_MFA_SECRETS } from './mfa/mfa.store.ts';
export { resetMfa } from './mfa/mfa.ts';

/**
 * OAuth 2.1: apps of others register, a person lets them in for a team (consent), and they come with access tokens. A grant
 * acts for its person in one membership: what an access token rests on is read with every use. A code and a refresh token
 * work once; one that is shown again ends the grant. Only hashes of tokens are kept.
 */
export {
  answerConsent,
  askForConsent,
  findOwnGrant,
  limitOwnGrant,
  listOwnGrants,
  readAuthorization,
  revokeOwnGrant,
  type Ask,
  type Asked,
} from './oauth/consent.ts';
export { countSends } from './oauth/grants.store.ts';
export {
  EMAILS_MAX,
  endAllTokens,
  readStored,
  revokeGrantsOfUser,
  type Limited,
  type LimitsAsked,
} from './oauth/grants.ts';
export { OauthRefusal, describable } from './oauth/parameters.ts';
export { ACCESS_PREFIX, createGrantAuthentication, removeExpiredOauth, removeUnusedOauth } from './oauth/tokens.ts';

/**
 * Sessions: a person who is signed in, in one of their teams at a time. Of the token, in the cookie or of a program, only the hash is kept. The
 * role is read with every request, so that what a member has lost is gone at once. Attempts to sign in are counted before
 * the password is looked at. A person with a second factor is asked for a code first, which the same browser has to answer.
 */
export {
  HOST_SESSION_COOKIE,
  SESSION_COOKIE,
  SESSION_PREFIX,
  createSessionAuthentication,
  removeExpiredSessions,
  sessionCookiesIn,
} from './sessions/sessions.ts';
export { endAllChallenges } from './sessions/sign-ins.store.ts';

/**
 * Single sign-on: the OpenID Connect provider of a team, the domains whose addresses it speaks for, and whom a person that it
 * vouches for becomes. What talks to the provider is `features/identity/sso-sign-in`. Changed under the lock of the team, as its members are.
 */
export { CALLBACK_PATH, START_PATH, stopEnforcingSso } from './sso/sso-connection.ts';
export { takeSsoDomain } from './sso/sso-domains.ts';
