/**
 * Accounts: how a person gets one and chooses a password anew. Requests are noted without looking anything up; whether an address
 * has an account is found out where their mails are written, and told to its mailbox alone. Of a token only a hash is kept.
 */
export {
  accountSender,
  type AccountSender,
  forgetAccountRequests,
  noteResetMailed,
  whatToTell,
  whoseReset,
} from './account-mails.ts';
export {
  resetTokens,
  verificationTokens,
  changePassword,
  confirmPasswordReset,
  makePasswordReset,
  requestPasswordReset,
  tell,
} from './passwords.ts';
export {
  noteAccountNoticeMailed,
  removeAllAccountRequests,
  unmailedAccountNotices,
  type AccountNoticeKind,
  type AccountNoticeRow,
  unmailedPasswordResets,
  type PasswordResetRow,
  noteSignUpMailed,
  unmailedSignUps,
  type SignUpRow,
} from './accounts.store.ts';
export { signUp, signUpByInvitation, firstPasswordToken, verifyEmail } from './sign-up.ts';
