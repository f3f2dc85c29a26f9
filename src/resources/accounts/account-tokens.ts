import { mailedTokens } from '../../platform/secrets/index.ts';

export const verificationTokens = mailedTokens('rv_', 'address verification');
export const resetTokens = mailedTokens('rp_', 'password reset');
