/**
 * API keys: the credential of an application. A token is shown once and kept as a hash; a revoked key stays as a row,
 * so that what was sent with it can still be attributed.
 */
export {
  createAuthentication,
  createApiKey,
  isVerifiedDomain,
  createKeyUse,
  deleteApiKey,
  issueApiKey,
  findFixedKeyFault,
  keepFixedKey,
  isActiveToken,
  keyLives,
  listApiKeys,
  updateApiKey,
} from './api-keys.ts';
export { findKeyName } from './api-keys.store.ts';
