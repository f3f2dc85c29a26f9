/** What HTTP adds to the steps of OAuth: forms, the words of RFC 6749 for what is refused, calls from pages of other sites. */
export {
  challengeForScope,
  challengeForScopes,
  challengeOf,
  sendOauthError,
  allowOtherOrigins,
  readOauthFields,
} from './answers.ts';
export { refusedPage } from './authorize-client.ts';
