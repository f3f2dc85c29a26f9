/**
 * Share links: a token that shows one email to its holder, for two days at most. Only the token's hash is kept,
 * so a link is readable once, when it is made. A link that is unknown, expired or revoked is the same nothing.
 */
export {
  createShare,
  forgetExpiredShares,
  readSharedContent,
  readSharedEmail,
  type SharedContent,
  type SharedEmail,
  revokeShares,
} from './shares.ts';
export { removeSharesOf } from './shares.store.ts';
