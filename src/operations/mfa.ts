import { tell } from '../features/identity/accounts/index.ts';
import { confirmMfa, disableMfa, enrolMfa, getMfa, replaceRecoveryCodes } from '../features/identity/mfa/index.ts';
import { mustHaveUsedPassword } from '../tenancy/session-rows/index.ts';
import { recoverMfa, verifyMfa } from '../features/identity/sessions/index.ts';
import type { Operations } from './operation.ts';

export const mfa = {
  getMfa: (ctx) => getMfa(ctx),
  enrolMfa: async (ctx) => {
    await mustHaveUsedPassword(ctx.store.db, ctx.actor.sessionId);
    return enrolMfa(ctx);
  },
  confirmMfa: async (ctx, { body }) => {
    await mustHaveUsedPassword(ctx.store.db, ctx.actor.sessionId);
    return confirmMfa(ctx, body, tell);
  },
  disableMfa: async (ctx, { body }) => {
    await mustHaveUsedPassword(ctx.store.db, ctx.actor.sessionId);
    return disableMfa(ctx, body, tell);
  },
  replaceRecoveryCodes: async (ctx, { body }) => {
    await mustHaveUsedPassword(ctx.store.db, ctx.actor.sessionId);
    return replaceRecoveryCodes(ctx, body, tell);
  },
  verifyMfa: (ctx, { body }) => verifyMfa(ctx, body),
  recoverMfa: (ctx, { body }) => recoverMfa(ctx, body, tell),
} satisfies Partial<Operations>;
