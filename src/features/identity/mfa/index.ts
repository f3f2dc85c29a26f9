/**
 * The second factor of a person: an authenticator app, and recovery codes for when it is lost. Its secret is sealed with the
 * instance key, and of recovery codes only hashes are kept. A code is taken once, however many ask at the same time on whichever
 * node. What is entered wrong is counted before it is looked at. Signing in with it stands in `sessions`.
 */
export {
  confirmMfa,
  disableMfa,
  resetMfa,
  enrolMfa,
  type Tell,
  getMfa,
  replaceRecoveryCodes,
  removeOldEnrolments,
} from './mfa.ts';
export { countEntry, mustSpend, readAppCode, readRecoveryCode, settleEntries, type Entry } from './code-entries.ts';
export { SEALED_MFA_SECRETS, secretOf, type SecretRow } from './mfa.store.ts';
