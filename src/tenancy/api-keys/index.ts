/**
 * API keys: the credential of an application. A token is shown once and kept as a hash; a revoked key stays as a row,
 * so that what it sent can still be told apart.
 */
export { createAuthentication } from './authenticate-api-key.ts';
export { createApiKey } from './create-api-key.ts';
export { createKeyUse } from './note-key-use.ts';
export { deleteApiKey } from './delete-api-key.ts';
export { issueApiKey } from './issue-api-key.ts';
export { findFixedKeyFault, keepFixedKey } from './keep-fixed-key.ts';
export { isActiveToken, keyLives } from './key-lives.ts';
export { listApiKeys } from './list-api-keys.ts';
export { updateApiKey } from './update-api-key.ts';
