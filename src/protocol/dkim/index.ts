/**
 * DKIM signatures (RFC 6376, RFC 8463): relaxed/relaxed, RSA and Ed25519, any number of keys over one body hash.
 * Signing runs in the thread pool and leaves the message untouched; the result is the field to put in front of it.
 * It never verifies, and never reads or makes keys.
 */
export { dkimPublicRecord } from './public-record.ts';
export { bodyHash } from './body-hash.ts';
export { BodyHasher } from './body-hasher.ts';
export { signDkim } from './sign-dkim.ts';
export type { DkimAlgorithm, DkimKey, DkimMessage } from './sign-dkim.ts';
export { appendSignature, foldTags, listTag, signBytes } from './signature-field.ts';
export { canonicalField, selectSignedHeaders } from './signed-headers.ts';
