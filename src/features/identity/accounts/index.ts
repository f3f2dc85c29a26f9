/**
 * Accounts: how a person gets one and chooses a password anew. Requests are noted without looking anything up; whether an address
 * has an account is found out where their mails are written, and told to its mailbox alone. Of a token only a hash is kept.
 */
export { accountSender, type AccountSender } from './account-sender.ts';
export { resetTokens, verificationTokens } from './account-tokens.ts';
export {
  noteAccountNoticeMailed,
  removeAllAccountRequests,
  unmailedAccountNotices,
  type AccountNoticeKind,
  type AccountNoticeRow,
} from './account-mails.store.ts';
export { changePassword } from './change-password.ts';
export { forgetAccountRequests } from './forget-accounts.ts';
export { unmailedPasswordResets, type PasswordResetRow } from './password-resets.store.ts';
export { confirmPasswordReset, makePasswordReset, requestPasswordReset, tell } from './reset-password.ts';
export { noteResetMailed, whatToTell, whoseReset } from './settle-mails.ts';
export { signUp } from './sign-up.ts';
export { signUpByInvitation } from './sign-up-by-invitation.ts';
export { noteSignUpMailed, unmailedSignUps, type SignUpRow } from './sign-ups.store.ts';
export { firstPasswordToken, verifyEmail } from './verify-email.ts';
