import {
  changePassword,
  confirmPasswordReset,
  requestPasswordReset,
  signUp,
  signUpByInvitation,
  verifyEmail,
} from '../resources/accounts/index.ts';
import type { Operations } from './operation.ts';

export const accounts = {
  signUp: (ctx, { body }) => signUp(ctx, body),
  verifyEmail: (ctx, { body }) => verifyEmail(ctx, body.token),
  requestPasswordReset: (ctx, { body }) => requestPasswordReset(ctx, body.email),
  confirmPasswordReset: (ctx, { body }) => confirmPasswordReset(ctx, body),
  changePassword: (ctx, { body }) => changePassword(ctx, body),
  signUpByInvitation: (ctx, { body }) => signUpByInvitation(ctx, body),
} satisfies Partial<Operations>;
