/**
 * DKIM signatures (RFC 6376, RFC 8463): relaxed/relaxed, RSA and Ed25519, any number of keys over one body hash.
 * Signing runs in the thread pool and leaves the message untouched; the result is the field to put in front of it.
 * It never verifies, and never reads or makes keys.
 */
export {
  dkimPublicRecord,
  signDkim,
  type DkimAlgorithm,
  type DkimKey,
  type DkimMessage,
  appendSignature,
  foldTags,
  listTag,
  signBytes,
  canonicalField,
  selectSignedHeaders,
} from './sign-dkim.ts';
export { bodyHash } from './body-hash.ts';
export { BodyHasher } from './body-hasher.ts';
