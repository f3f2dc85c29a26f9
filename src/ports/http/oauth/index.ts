/** The HTTP side of OAuth: forms, the error names of RFC 6749, and calls from pages of other sites. */
export {
  challengeForScope,
  challengeForScopes,
  formatChallenge,
  sendOauthError,
  allowOtherOrigins,
  readOauthFields,
} from './answers.ts';
export { refusedPage } from './authorize-client.ts';
