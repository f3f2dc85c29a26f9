/**
 * Share links: a token that shows one email to its holder, for two days at most. Only the token's hash is stored, so a
 * link is readable once, when it is made. Unknown, expired and revoked links are indistinguishable.
 */
export {
  createShare,
  forgetExpiredShares,
  readSharedContent,
  readSharedEmail,
  readViewedEmail,
  type SharedContent,
  type SharedEmail,
  type ViewedEmail,
  revokeShares,
} from './shares.ts';
export { removeEmailShares } from './shares.store.ts';
