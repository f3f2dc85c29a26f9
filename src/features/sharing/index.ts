/**
 * Links to the page of a broadcast, a template or an automation: checklist, preview and report for readers without an
 * account. They are tokens like those of share links.
 */
export {
  createAutomationShare,
  createBroadcastShare,
  createTemplateShare,
  readReviewedBroadcast,
  readSharedPage,
  renderPageMail,
  reviewSharedBroadcast,
  revokeAutomationShares,
  revokeBroadcastShares,
  revokeTemplateShares,
  type PageBroadcast,
  type Period,
  type ReviewedBroadcast,
  type SharedPage,
} from './page-shares.ts';

/**
 * Share links: a token that shows one email to its holder, for two days at most. Only the token's hash is stored, so a
 * link is readable once, when it is made. Unknown, expired and revoked links are indistinguishable.
 */
export {
  createShare,
  forgetExpiredShares,
  readSharedContent,
  readSharedEmail,
  readViewedContent,
  readViewedEmail,
  type SharedContent,
  type SharedEmail,
  type ViewedEmail,
  revokeShares,
} from './shares.ts';
export { removeEmailShares } from './shares.store.ts';
