import { mailedTokens } from '../../../platform/secrets/index.ts';

export const verificationTokens = mailedTokens('rv_', 'address verification');
/** Stays in the browser in which an account was asked for, and in no mail. */
export const signUpTokens = mailedTokens('rs_', 'browser of a sign-up');
export const resetTokens = mailedTokens('rp_', 'password reset');
