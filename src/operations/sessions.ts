import { getMe, getSession, logIn, logOut } from '../resources/sessions/index.ts';
import type { Operations } from './operation.ts';

export const sessions = {
  logIn: (ctx, { body }) => logIn(ctx, body),
  logOut: (ctx, { body }) => logOut(ctx, body),
  getMe: (ctx) => getMe(ctx),
  getSession: (ctx) => getSession(ctx),
} satisfies Partial<Operations>;
