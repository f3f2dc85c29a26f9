/**
 * Share links: a token that shows one email to its holder, for two days at most. Only the token's hash is kept,
 * so a link is readable once, when it is made. A link that is unknown, expired or revoked is the same nothing.
 */
export { createShare } from './create-share.ts';
export { forgetExpiredShares } from './forget-expired-shares.ts';
export { readSharedContent, readSharedEmail, type SharedContent, type SharedEmail } from './read-shared-email.ts';
export { revokeShares } from './revoke-shares.ts';
export { removeSharesOf } from './shares.store.ts';
