/** What HTTP adds to the steps of OAuth: forms, the words of RFC 6749 for what is refused, calls from pages of other sites. */
export { challengeForScope, challengeForScopes, challengeOf, sendOauthError } from './answers.ts';
export { allowOtherOrigins } from './cross-origin.ts';
export { readOauthFields } from './read-fields.ts';
export { refusedPage } from './refused-page.ts';
