import {
  changePassword,
  confirmPasswordReset,
  requestPasswordReset,
  signUp,
  signUpByInvitation,
  verifyEmail,
} from '../features/identity/accounts/index.ts';
import { mustHaveUsedPassword } from '../tenancy/session-rows/index.ts';
import type { Operations } from './operation.ts';

export const accounts = {
  signUp: (ctx, { body }) => signUp(ctx, body),
  verifyEmail: (ctx, { body }) => verifyEmail(ctx, body.token),
  requestPasswordReset: (ctx, { body }) => requestPasswordReset(ctx, body.email),
  confirmPasswordReset: (ctx, { body }) => confirmPasswordReset(ctx, body),
  changePassword: async (ctx, { body }) => {
    await mustHaveUsedPassword(ctx.store.db, ctx.actor.sessionId);
    return changePassword(ctx, body);
  },
  signUpByInvitation: (ctx, { body }) => signUpByInvitation(ctx, body),
} satisfies Partial<Operations>;
