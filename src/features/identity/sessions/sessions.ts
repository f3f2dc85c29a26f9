import type { Executor, Page } from '../../../platform/db/index.ts';
import { refuse, notFound } from '../../../platform/refusal.ts';
import { hashToken, newToken } from '../../../platform/secrets/index.ts';
import type { NobodyCtx, Actor, Browser, Identity, UserCtx } from '../../../tenancy/access/index.ts';
import { audited, describeActor } from '../../../tenancy/audit/index.ts';
import {
  endSessionOfToken,
  insertSession,
  copySession,
  ownerOfSession,
  findLiveSession,
  findTeamRequiringSso,
  noteSessionUsed,
  sessionPage,
  ssoTeamOfSession,
  endSession,
  endOwnSession,
  endSessionsOfUser,
  endSsoSessions,
  removeSessionsBefore,
  type SessionKind,
  type SessionRow,
} from '../../../tenancy/session-rows/index.ts';
import { presentTeam, presentTeams, type TeamRow } from '../../../tenancy/teams/index.ts';
import { lockUser, mustNotBeDisabled, presentUser, findUser, type UserRow } from '../../../tenancy/users/index.ts';
import { rememberBrowser, forgetOldAttempts } from './attempts.ts';
import { listOwnTeams, closedAmong, findCurrentTeam, teamsInSight } from './own-teams.store.ts';
import { lockAccount } from '../../../tenancy/members/index.ts';
import type { Store } from '../../../platform/store.ts';
import { isoTime } from '../../../platform/clock.ts';
import { revokeGrantsInTeam, revokeGrantsOfUser } from '../oauth/grants.ts';
import { removeOldEnrolments } from '../mfa/mfa.ts';
import { removeChallengesBefore } from './sign-ins.store.ts';
import { removeAnswersBefore } from '../../../tenancy/sso-rows/index.ts';

export const SESSION_COOKIE = 'rasket_session';
/** Browsers accept this name only from this host over https, so no sibling host can plant a session. */
export const HOST_SESSION_COOKIE = `__Host-${SESSION_COOKIE}`;
export const SESSION_PREFIX = 'rks_';

const NOTED_MS = 60_000;

/**
 * Place of a session token. A session in a cookie with the prefix is not accepted without it, because other hosts can
 * plant such a cookie.
 */
type Carrier = 'device' | typeof SESSION_COOKIE | typeof HOST_SESSION_COOKIE;

/** Returns the name of the cookie for new sessions. */
const newSessionCookie = ({ config, origin }: Pick<Store, 'config' | 'origin'>) =>
  config.sessions.secure_cookie && origin().startsWith('https:') ? HOST_SESSION_COOKIE : SESSION_COOKIE;

/** Returns the session cookies of a browser with their names. */
export const sessionCookiesIn = (browser: Pick<Browser, 'cookie'>) =>
  ([HOST_SESSION_COOKIE, SESSION_COOKIE] as const).flatMap((name) => {
    const token = browser.cookie(name);
    return token === undefined ? [] : [{ name, token }];
  });

/**
 * Creates the authentication by sessions. Nothing is cached between requests, so that every node refuses an ended
 * session at the next request. A token from a cookie is not accepted in a header, and vice versa.
 */
export function createSessionAuthentication(
  store: Store,
  carrier: Carrier,
): (token: string) => Promise<Identity<Extract<Actor, { kind: 'session' }>>> {
  const { db, clock } = store;
  const kind: SessionKind = carrier === 'device' ? 'device' : 'browser';
  const hasHostCookie = carrier === HOST_SESSION_COOKIE;
  return async (token) => {
    const now = clock.now();
    const found = await findLiveSession(db, { tokenHash: hashToken(token), kind, hasHostCookie }, now);
    if (!found) throw refuse('invalid_api_key', { say: 'This session has ended; sign in again.' });
    const { id: sessionId, user_id: userId, email: name, team_id: teamId, role } = found;
    if (now - found.last_used_at >= NOTED_MS) await db.txUnsynced((tx) => noteSessionUsed(tx, sessionId, now));
    const actor = { kind: 'session' as const, sessionId, userId, name, role };
    if (teamId !== null) return { teamId, actor };
    const closed = await findTeamRequiringSso(db, sessionId);
    return { teamId, actor: closed === undefined ? actor : { ...actor, closedBecause: demandSso(store, closed) } };
  };
}

const demandSso = ({ origin }: Store, team: string): string =>
  `The team ${JSON.stringify(team)} enforces single sign-on, and this session began with a password; sign in through its provider: ${origin()}/auth/sso/start`;

const DAY_SECONDS = 24 * 3600;

/**
 * Returns the seconds that a new session lasts. One that began through a provider ends within hours, because the
 * provider may no longer know the person.
 */
const countSessionSeconds = ({ config }: Store, ssoTeamId: string | null): number => {
  const seconds = config.sessions.days * DAY_SECONDS;
  return ssoTeamId === null ? seconds : Math.min(seconds, config.sso.session_hours * 3600);
};

const USER_AGENT_CHARS_MAX = 500;

interface SessionOrigin {
  /** Team that the person joins in `within`. */
  joined?: TeamRow;
  /** Team whose provider authenticated the person; the session begins in it. */
  ssoTeamId?: string | null;
  /** The provider's id of its session, by which it ends this one. */
  ssoSid?: string | undefined;
  /** Details for the audit log. */
  details?: object;
}

/**
 * Signs in an authenticated person, in their first team that is not suspended, and sets the cookie. `within` runs in
 * the same transaction, before the session. Ends the previous session of the browser, so that a planted token is
 * useless afterwards.
 */
export async function beginSession(
  { store, browser, requestId }: NobodyCtx,
  user: UserRow,
  within: (tx: Executor) => Promise<unknown>,
  { joined, ssoTeamId = null, ssoSid, details }: SessionOrigin = {},
) {
  const teams = joined ? [joined] : await listOwnTeams(store.db, user.id);
  const closed = await closedAmong(store.db, { userId: user.id, teams, ssoTeamId });
  const open = teams.filter(({ id }) => !closed.has(id));
  const team =
    open.find(({ id }) => id === ssoTeamId) ?? open.find(({ risk_state: state }) => state === 'normal') ?? open[0];
  const token = newToken(SESSION_PREFIX);
  const now = store.clock.now();
  const seconds = countSessionSeconds(store, ssoTeamId);
  const { address } = browser;
  const before = sessionCookiesIn(browser);
  const cookie = newSessionCookie(store);
  const userAgent = browser.userAgent.slice(0, USER_AGENT_CHARS_MAX);
  const session = {
    id: store.ids.uuid(),
    token_hash: hashToken(token),
    user_id: user.id,
    current_team_id: team?.id ?? null,
    created_at: now,
    last_used_at: now,
    expires_at: now + seconds * 1000,
    address,
    user_agent: userAgent,
    sso_team_id: ssoTeamId,
    sso_sid_hash: ssoSid === undefined ? null : hashToken(ssoSid),
    host_cookie: cookie === HOST_SESSION_COOKIE ? 1 : 0,
  };
  const actor = { kind: 'session' as const, sessionId: session.id, userId: user.id, name: user.email, role: null };
  const audit = audited(store, {
    action: 'session.begun',
    team_id: team?.id ?? null,
    subject_id: session.id,
    ...describeActor(actor),
    address,
    user_agent: userAgent,
    request_id: requestId,
    details: details ? JSON.stringify(details) : null,
  });
  await audit.store.db.tx(async (tx) => {
    if (!joined) mustBeUnchanged(await lockUser(tx, user.id), user);
    await within(tx);
    for (const one of before) await endSessionOfToken(tx, hashToken(one.token));
    await insertSession(tx, session);
  });
  browser.keep(cookie, token, seconds);
  for (const { name } of before) if (name !== cookie) browser.forget(name);
  // A known browser has its own limit of password guesses, so single sign-on must not make a browser known.
  if (ssoTeamId === null) rememberBrowser(store, browser, user.email_key);
  return {
    object: 'session' as const,
    user: presentUser(user),
    current_team: team ? await presentTeam(store, team) : null,
  };
}

/**
 * Throws if the person was disabled, or the password or second factor was changed, since `shown` was read: whatever
 * ends sessions must also stop one that is about to begin on older data.
 */
export function mustBeUnchanged(now: UserRow | undefined, shown: UserRow): asserts now is UserRow {
  if (now) mustNotBeDisabled(now);
  if (now?.password_hash === shown.password_hash && now.mfa_enabled_at === shown.mfa_enabled_at) return;
  throw refuse('validation_error', {
    status: 422,
    say: 'Your account was changed while you signed in; sign in again.',
  });
}

/** Program that was approved in a browser session. */
interface Approved {
  sessionId: string;
  clientName: string;
  address: string;
  userAgent: string;
}

type Begun = { token: string; expiresAt: number } | 'ended' | 'taken';

/**
 * Begins the session of a program, for the person and team of the session in which it was approved; returns `ended` if
 * that session has ended. `take` runs in the same transaction and returns whether the session should still begin.
 */
export async function beginProgramSession(
  { store, requestId }: NobodyCtx,
  { sessionId, clientName, address, userAgent }: Approved,
  take: (tx: Executor) => Promise<boolean>,
): Promise<Begun> {
  const owner = await ownerOfSession(store.db, sessionId);
  if (!owner) return 'ended';
  const token = newToken(SESSION_PREFIX);
  const now = store.clock.now();
  const longest = now + store.config.sessions.days * DAY_SECONDS * 1000;
  // A program must not outlast the sign-in at the provider either.
  const expiresAt = owner.sso_team_id === null ? longest : Math.min(longest, owner.expires_at);
  const id = store.ids.uuid();
  const row = {
    id,
    token_hash: hashToken(token),
    client_name: clientName,
    address,
    user_agent: userAgent,
    created_at: now,
    last_used_at: now,
    expires_at: expiresAt,
  };
  const actor = { kind: 'session' as const, sessionId: id, userId: owner.user_id, name: owner.email, role: null };
  const audit = audited(store, {
    action: 'session.begun',
    team_id: owner.team_id,
    subject_id: id,
    ...describeActor(actor),
    address,
    user_agent: userAgent,
    request_id: requestId,
    details: JSON.stringify({ kind: 'device', client_name: clientName }),
  });
  const begin = audit.store.db.tx(async (tx) => {
    // A concurrent request that ends all sessions of the person waits, and then ends this one too.
    await lockAccount(tx, owner.user_id);
    if (!(await copySession(tx, sessionId, row))) return 'ended' as const;
    if (!(await take(tx))) throw new Taken();
    return { token, expiresAt };
  });
  return begin.catch((error: unknown) => {
    if (error instanceof Taken) return 'taken' as const;
    throw error;
  });
}

/** Rolls back, because another request was first. */
class Taken extends Error {}

/** Used responses and logout tokens are remembered for longer than they are accepted. */
const SSO_ANSWERS_MS = 3_600_000;

/**
 * Removes expired sessions and challenges, abandoned second factors, and attempts that are too old to count. Returns
 * the number of sessions.
 */
export async function removeExpiredSessions(store: Store): Promise<number> {
  const { db, clock } = store;
  await forgetOldAttempts(db, clock.now());
  await removeAnswersBefore(db, clock.now() - SSO_ANSWERS_MS);
  await removeChallengesBefore(db, clock.now());
  await removeOldEnrolments(store);
  return removeSessionsBefore(db, clock.now());
}

export async function logOut({ store, actor, browser }: UserCtx, { all = false }: { all?: boolean }) {
  await store.db.tx(async (tx) => {
    if (!all) return void (await endSession(tx, actor.sessionId));
    // Lock first, so that a session of a program that begins at the same time is ended too.
    await lockAccount(tx, actor.userId);
    const revoked = { at: store.clock.now(), reason: 'user' as const };
    const teamId = await ssoTeamOfSession(tx, actor.sessionId);
    // Signing out everywhere also ends the sessions of apps.
    if (teamId === null) {
      await endSessionsOfUser(tx, actor.userId);
      return revokeGrantsOfUser(tx, actor.userId, revoked);
    }
    await endSsoSessions(tx, teamId, actor.userId);
    return revokeGrantsInTeam(tx, { userId: actor.userId, teamId }, revoked);
  });
  const names = [newSessionCookie(store), ...sessionCookiesIn(browser).map(({ name }) => name)];
  for (const name of new Set(names)) browser.forget(name);
  return { object: 'session' as const, revoked: true as const };
}

/** Ends one session of the person. Sessions of other people are reported as not found. */
export async function endOneSession({ store, actor }: UserCtx, named: string) {
  const id = named.toLowerCase();
  const ssoTeamId = await ssoTeamOfSession(store.db, actor.sessionId);
  const isEnded = await store.db.tx((tx) => endOwnSession(tx, { id, userId: actor.userId, ssoTeamId }));
  if (!isEnded) throw notFound('Session');
  return { object: 'session' as const, id, deleted: true as const };
}

/** Lists the sessions of the person. */
export async function listSessions({ store, actor }: UserCtx, page: Page) {
  const { userId, sessionId } = actor;
  const ssoTeamId = await ssoTeamOfSession(store.db, actor.sessionId);
  const { rows, hasMore } = await sessionPage(store.db, { userId, ssoTeamId, now: store.clock.now() }, page);
  // No session works in a suspended team.
  const teams = (await listOwnTeams(store.db, userId)).filter(({ risk_state: state }) => state === 'normal');
  const byId = new Map(teams.map((team) => [team.id, team]));
  const present = (row: SessionRow) => {
    const team = byId.get(row.current_team_id ?? '');
    return {
      ...presentSession(row),
      team: team ? { id: team.id, name: team.name } : null,
      role: team?.own_role ?? null,
    };
  };
  const presentSession = (row: SessionRow) => ({
    object: 'session' as const,
    id: row.id,
    kind: row.kind,
    client_name: row.client_name,
    is_current: row.id === sessionId,
    address: row.address,
    user_agent: row.user_agent,
    created_at: isoTime(row.created_at),
    last_used_at: isoTime(row.last_used_at),
    expires_at: isoTime(row.expires_at),
  });
  return { object: 'list' as const, has_more: hasMore, data: rows.map(present) };
}

export async function getSession(ctx: UserCtx) {
  const { user, current } = await read(ctx);
  return {
    object: 'session' as const,
    user: presentUser(user),
    current_team: current ? await presentTeam(ctx.store, current) : null,
  };
}

export async function getMe(ctx: UserCtx) {
  const { user, current } = await read(ctx);
  const { created_at: _, ...shown } = presentUser(user);
  const teams = await teamsInSight(ctx.store.db, ctx.actor);
  return {
    ...shown,
    mfa_enabled_at: user.mfa_enabled_at === null ? null : isoTime(user.mfa_enabled_at),
    current_team_id: current?.id ?? null,
    teams: await presentTeams(ctx.store, teams),
  };
}

async function read({ store, actor }: UserCtx) {
  const user = await findUser(store.db, actor.userId);
  if (!user) throw notFound('User');
  return { user, current: await findCurrentTeam(store.db, actor.sessionId) };
}
