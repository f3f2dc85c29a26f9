/**
 * Share links: a token that shows one email to whoever holds it, for two days at most. Only the token's hash is kept,
 * so a link is readable once, when it is made. A link that is unknown, expired or revoked is the same nothing.
 */
export { createShare, type NewShare } from './create-share.ts';
export { forgetExpiredShares } from './forget-expired-shares.ts';
export { readInlineImages } from './read-inline-images.ts';
export { readSharedEmail, type SharedEmail } from './read-shared-email.ts';
export { revokeShares } from './revoke-shares.ts';
export { removeSharesOf } from './shares.store.ts';
