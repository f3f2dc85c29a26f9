import { tell } from '../resources/accounts/index.ts';
import { confirmMfa, disableMfa, enrolMfa, getMfa, replaceRecoveryCodes } from '../resources/mfa/index.ts';
import { recoverMfa, verifyMfa } from '../resources/sessions/index.ts';
import type { Operations } from './operation.ts';

export const mfa = {
  getMfa: (ctx) => getMfa(ctx),
  enrolMfa: (ctx) => enrolMfa(ctx),
  confirmMfa: (ctx, { body }) => confirmMfa(ctx, body, tell),
  disableMfa: (ctx, { body }) => disableMfa(ctx, body, tell),
  replaceRecoveryCodes: (ctx, { body }) => replaceRecoveryCodes(ctx, body, tell),
  verifyMfa: (ctx, { body }) => verifyMfa(ctx, body),
  recoverMfa: (ctx, { body }) => recoverMfa(ctx, body, tell),
} satisfies Partial<Operations>;
