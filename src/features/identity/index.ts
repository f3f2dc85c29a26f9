/**
 * Accounts: sign-up, password resets and account mails. Requests are stored without a lookup; whether an address has an
 * account is determined only when the mails are written, and revealed only to the mailbox. Only a hash of each token is
 * stored.
 */
export { accountSender, forgetAccountRequests, reportSender } from './accounts/account-mails.ts';
export { removeAllAccountRequests } from './accounts/accounts.store.ts';
export { makePasswordReset, notifyByMail } from './accounts/passwords.ts';
export { firstPasswordToken } from './accounts/sign-up.ts';

/**
 * Approvals: calls of apps that a person decides on first. A call is held once, as it was received; an approval makes
 * it once, with the rights of the app. Content that a call only names is read again, so that people approve only the
 * content they saw.
 */
export {
  expireAllApprovals,
  mustLeaveWaitingMail,
  proposeCall,
  removeOldApprovals,
  type Maker,
} from './approvals/approvals.ts';
export { changesOwnWork, repeatsHeldCall } from './approvals/proposed-call.ts';

/**
 * Device logins: a program requests a code, its user approves the code in a browser, and the program gets a session of
 * its own, once. Only hashes of both codes are stored. The new session is a copy of the one in which it was approved,
 * and begins only while that one is alive.
 */
export { removeAllDeviceLogins } from './device-logins/device-logins.store.ts';
export { DEVICE_PATH, removeExpiredDeviceLogins } from './device-logins/device-logins.ts';

/**
 * Invitations: an address is invited to a team, in a role, by mail. Only a hash of the token is stored. It works once,
 * for seven days, and only for a person who is signed in with that verified address, or who creates an account with it.
 */
export { removeAllOpenInvitations } from './invitations/invitations.store.ts';
export {
  forgetInvitations,
  inviteByOperator,
  loadShownInvitation,
  type ShownInvitation,
} from './invitations/invitations.ts';

/**
 * The second factor of a person: an authenticator app, and recovery codes in case it is lost. The secret is sealed with
 * the instance key, and only hashes of recovery codes are stored. A code works once, however many requests use it at
 * the same time on any node. Entries are counted as wrong before they are checked. `sessions` implements signing in
 * with it.
 */
export { SEALED_MFA_SECRETS } from './mfa/mfa.store.ts';
export { resetMfa } from './mfa/mfa.ts';

/**
 * OAuth 2.1: third-party apps register, a person authorizes them for a team (consent), and they authenticate with
 * access tokens. A grant acts for its person in one membership, and everything an access token depends on is read on
 * every use. Codes and refresh tokens work once; using one again revokes the grant. Only hashes of tokens are stored.
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
 * Sessions: a signed-in person, in one of their teams at a time. Only the hash of a token is stored, whether it is in a
 * cookie or used by a program. The role is read with every request, so that a lost role takes effect at once. Attempts
 * to sign in are counted before the password is checked. A person with a second factor is asked for a code first, in
 * the same browser.
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
 * Single sign-on: the OpenID Connect provider of a team, the domains whose addresses it may authenticate, and the
 * accounts of the people it authenticates. `features/identity/sso-sign-in` communicates with the provider. Changes take
 * the lock of the team, like changes of its members.
 */
export { CALLBACK_PATH, START_PATH, stopEnforcingSso } from './sso/sso-connection.ts';
export { takeSsoDomain } from './sso/sso-domains.ts';
