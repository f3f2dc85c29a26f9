import type { Executor } from '../../../platform/db/index.ts';
import { refuse } from '../../../platform/refusal/index.ts';
import { hashToken, newToken } from '../../../platform/secrets/index.ts';
import type { NobodyCtx } from '../../../tenancy/access/index.ts';
import { audited, whoActed } from '../../../tenancy/audit/index.ts';
import { endSessionOfToken, insertSession } from '../../../tenancy/session-rows/index.ts';
import { presentTeam, type TeamRow } from '../../../tenancy/teams/index.ts';
import { lockUser, mustNotBeDisabled, presentUser, type UserRow } from '../../../tenancy/users/index.ts';
import { HOST_SESSION_COOKIE, newSessionCookie, SESSION_PREFIX, sessionCookiesIn } from './authenticate-session.ts';
import { rememberBrowser } from './known-browser.ts';
import { allTeamsOf, closedAmong } from './own-teams.store.ts';

export const DAY_SECONDS = 24 * 3600;
const USER_AGENT_CHARS_MAX = 500;

export interface SessionOrigin {
  /** The team that the person joins within. */
  joined?: TeamRow;
  /** The team through whose provider the person came; the session begins in it. */
  ssoTeamId?: string | null;
  /** For the audit log. */
  details?: object;
}

/**
 * Signs in a person who has shown who they are, in their first team that is not suspended, and sets the cookie. `within` is
 * part of the same transaction, and comes before the session. The session that the browser had before ends: a token that somebody
 * else has planted is worth nothing afterwards.
 */
export async function beginSession(
  { store, browser, requestId }: NobodyCtx,
  user: UserRow,
  within: (tx: Executor) => Promise<unknown>,
  { joined, ssoTeamId = null, details }: SessionOrigin = {},
) {
  const teams = joined ? [joined] : await allTeamsOf(store.db, user.id);
  const closed = await closedAmong(store.db, { userId: user.id, teams, ssoTeamId });
  const open = teams.filter(({ id }) => !closed.has(id));
  const team =
    open.find(({ id }) => id === ssoTeamId) ?? open.find(({ risk_state: state }) => state === 'normal') ?? open[0];
  const token = newToken(SESSION_PREFIX);
  const now = store.clock.now();
  const seconds = store.config.sessions.days * DAY_SECONDS;
  const { address } = browser;
  const [before, cookie] = [sessionCookiesIn(browser), newSessionCookie(store)];
  const userAgent = browser.userAgent.slice(0, USER_AGENT_CHARS_MAX);
  const session = {
    ...{ id: store.ids.uuid(), token_hash: hashToken(token), user_id: user.id, current_team_id: team?.id ?? null },
    ...{ created_at: now, last_used_at: now, expires_at: now + seconds * 1000, address, user_agent: userAgent },
    ...{ sso_team_id: ssoTeamId, host_cookie: cookie === HOST_SESSION_COOKIE ? 1 : 0 },
  };
  const actor = { kind: 'session' as const, sessionId: session.id, userId: user.id, name: user.email, role: null };
  const audit = audited(store, {
    ...{ action: 'session.begun', team_id: team?.id ?? null, subject_id: session.id, ...whoActed(actor) },
    ...{ address, user_agent: userAgent, request_id: requestId, details: details ? JSON.stringify(details) : null },
  });
  await audit.store.db.tx(async (tx) => {
    if (!joined) mustBeUnchanged(await lockUser(tx, user.id), user);
    await within(tx);
    for (const one of before) await endSessionOfToken(tx, hashToken(one.token));
    await insertSession(tx, session);
  });
  browser.keep(cookie, token, seconds);
  for (const { name } of before) if (name !== cookie) browser.forget(name);
  // A browser that is known has guesses at the password of its own, which no provider may hand out.
  if (ssoTeamId === null) rememberBrowser(store, browser, user.email_key);
  return {
    object: 'session' as const,
    user: presentUser(user),
    current_team: team ? await presentTeam(store, team) : null,
  };
}

/** What ends the sessions of a person ends the one that is about to begin with what was before it. */
export function mustBeUnchanged(now: UserRow | undefined, shown: UserRow): asserts now is UserRow {
  if (now) mustNotBeDisabled(now);
  if (now?.password_hash === shown.password_hash && now.mfa_enabled_at === shown.mfa_enabled_at) return;
  throw refuse('validation_error', { status: 422, say: 'Your account was changed at this moment; sign in again.' });
}
