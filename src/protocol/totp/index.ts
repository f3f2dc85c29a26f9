/**
 * One-time codes of an authenticator app (RFC 6238): HMAC-SHA-1, six digits, steps of 30 seconds, which is all that every app
 * can do. Which code was used already is not known here.
 */
export { base32, fromBase32, codeOf, matchingStep, otpauthUrl, stepAt, STEP_MS } from './totp.ts';
