import { endOneSession, getMe, getSession, listSessions, logIn, logOut } from '../features/identity/sessions/index.ts';
import { pageOf, type Operations } from './operation.ts';

export const sessions = {
  logIn: (ctx, { body }) => logIn(ctx, body),
  logOut: (ctx, { body }) => logOut(ctx, body),
  getMe: (ctx) => getMe(ctx),
  getSession: (ctx) => getSession(ctx),
  listSessions: (ctx, { query }) => listSessions(ctx, pageOf(query)),
  endSession: (ctx, { path }) => endOneSession(ctx, path.session_id),
} satisfies Partial<Operations>;
