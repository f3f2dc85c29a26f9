import { refuse, notFound, invalidField, type Refusal } from '../../../platform/refusal.ts';
import { hashToken, newToken } from '../../../platform/secrets/index.ts';
import type { Store } from '../../../platform/store.ts';
import type { Actor, Browser } from '../../../tenancy/access/index.ts';
import { audited, describeActor } from '../../../tenancy/audit/index.ts';
import { teamOfSession, ssoTeamOfSession } from '../../../tenancy/session-rows/index.ts';
import { findTeam, type TeamRow } from '../../../tenancy/teams/index.ts';
import { insertCode, insertConsent, removeOldConsents, takeConsent } from './tokens.store.ts';
import { findClient, holdClient, type ClientRow } from './clients.store.ts';
import {
  holdMembershipInTeam,
  latestLiveGrant,
  lockPerson,
  findGrantOfUser,
  liveGrantPageOfUser,
  lockGrant,
  revokeGrantRow,
  type GrantRow,
  type OwnGrant,
} from './grants.store.ts';
import {
  changedLimits,
  presentLimits,
  readStored,
  UNLIMITED,
  limitLocked,
  type Limited,
  type LimitsAsked,
} from './grants.ts';
import { READING_SCOPES, type Scope } from '../../../contract/index.ts';
import {
  oauthRefusal,
  OauthRefusal,
  neededText,
  readScopes,
  readParameter,
  redirectTo,
  readResource,
  type Fields,
  type Resource,
} from './parameters.ts';
import type { Executor, Page } from '../../../platform/db/index.ts';

/** Authorization that an app requests from a person. */
interface AuthorizationRequest {
  redirectUri: string;
  state: string;
  challenge: string;
  scopes: Scope[];
  resource: Resource;
  /** Name and logo of the app on the consent page. */
  client: { name: string; logoUri: string | null };
}

export interface Asked {
  kind: 'asked';
  client: ClientRow;
  request: AuthorizationRequest;
}

type Authorization =
  | Asked
  /** The app gets the error through the browser. */
  | { kind: 'refused'; to: string }
  /** No address to redirect the browser to is known. */
  | { kind: 'unknown'; say: string };

export const CLIENT_DISABLED = 'The operator of this service has disabled this app.';

const STATE_CHARS_MAX = 512;
const CHALLENGE = /^[A-Za-z0-9_-]{43}$/;

/** Reads a request to `/oauth/authorize`. Never redirects to an address that the client has not registered. */
export async function readAuthorization(store: Store, query: Fields): Promise<Authorization> {
  const clientId = query['client_id'];
  const client = typeof clientId === 'string' && isPlain(clientId) ? await findClient(store.db, clientId) : undefined;
  if (!client) return { kind: 'unknown', say: 'The app that sent you here is not known to this service.' };
  if (client.disabled_at !== null) return { kind: 'unknown', say: CLIENT_DISABLED };
  const redirectUri = query['redirect_uri'];
  const known = JSON.parse(client.redirect_uris) as string[];
  if (typeof redirectUri !== 'string' || !known.includes(redirectUri)) {
    const say = 'The app that sent you here asked to redirect you to an address that it has not registered.';
    return { kind: 'unknown', say };
  }
  try {
    return { kind: 'asked', client, request: readRequest(store, client, redirectUri, query) };
  } catch (error) {
    if (!(error instanceof OauthRefusal)) throw error;
    return { kind: 'refused', to: refusedTo(store, { redirectUri, state: query['state'] }, error) };
  }
}

/**
 * Returns the address that reports an error to the app. With `iss` (RFC 9207), an app that uses several services knows
 * which one has responded.
 */
const refusedTo = (
  store: Store,
  { redirectUri, state }: { redirectUri: string; state: unknown },
  { error, message }: { error: string; message: string },
): string =>
  redirectTo(redirectUri, {
    error,
    error_description: message,
    state: typeof state === 'string' && state !== '' ? state : undefined,
    iss: store.origin(),
  });

const allowedTo = (store: Store, { redirectUri, state }: AuthorizationRequest, code: string): string =>
  redirectTo(redirectUri, { code, state, iss: store.origin() });

const isPlain = (text: string): boolean => !text.includes('\0') && text.isWellFormed();

function readRequest(store: Store, client: ClientRow, redirectUri: string, query: Fields): AuthorizationRequest {
  const type = neededText(query, 'response_type');
  if (type !== 'code') throw oauthRefusal('unsupported_response_type', 'response_type must be code.');
  const challenge = neededText(query, 'code_challenge');
  const method = neededText(query, 'code_challenge_method');
  if (method !== 'S256') throw oauthRefusal('invalid_request', 'code_challenge_method must be S256.');
  if (!CHALLENGE.test(challenge)) {
    throw oauthRefusal('invalid_request', 'code_challenge must have 43 characters of BASE64URL.');
  }
  const state = neededText(query, 'state');
  if ([...state].length > STATE_CHARS_MAX) {
    throw oauthRefusal('invalid_request', `state may have at most ${STATE_CHARS_MAX} characters.`);
  }
  const resource = readParameter(query, 'resource');
  return {
    redirectUri,
    state,
    challenge,
    scopes: scopesFor(client, readParameter(query, 'scope')),
    resource: resource === undefined ? 'api' : readResource(store.origin(), resource),
    client: { name: client.name, logoUri: client.logo_uri },
  };
}

/** Returns the requested scopes. The registered scopes are the maximum, and the default if the request names none. */
function scopesFor(client: ClientRow, text: string | undefined): Scope[] {
  const registered = client.scope === null ? undefined : readScopes(client.scope);
  const asked = text === undefined ? [] : readScopes(text);
  if (asked.length === 0) return registered ?? READING_SCOPES;
  const more = registered && asked.find((scope) => !registered.includes(scope));
  if (more !== undefined) throw oauthRefusal('invalid_scope', `This client is not registered for the scope ${more}.`);
  return asked;
}

const CONSENT_MS = 10 * 60_000;
const CODE_MS = 5 * 60_000;
/** Limit of open consent pages per session: a person has only a few tabs. */
const CONSENTS_MAX = 20;
const USER_AGENT_CHARS_MAX = 500;

interface ConsentCtx {
  store: Store;
  browser: Pick<Browser, 'address' | 'userAgent'>;
  requestId: string;
  actor: Extract<Actor, { kind: 'session' }>;
}

/** Limits and scopes of an earlier grant. */
export interface Earlier extends Limited {
  scopes: readonly Scope[];
}

export interface Ask {
  /** Token for the form: valid once, for this page in this session. */
  token: string;
  team: TeamRow;
  /** Limits of an earlier grant of the same app by this person that is still live. */
  before: Earlier | undefined;
}

/** Stores the request for the team of the person's session; returns undefined if they are in none. */
export async function askForConsent(
  { store, actor }: ConsentCtx,
  teamId: string | null,
  { client, request }: { client: ClientRow; request: AuthorizationRequest },
): Promise<Ask | undefined> {
  const team = teamId === null ? undefined : await findTeam(store.db, teamId);
  if (!team) return undefined;
  const before = await latestLiveGrant(store.db, {
    userId: actor.userId,
    teamId: team.id,
    clientId: client.client_id,
    now: store.clock.now(),
  });
  const token = newToken('');
  await store.db.txUnsynced(async (tx) => {
    await insertConsent(tx, {
      token_hash: hashToken(token),
      session_id: actor.sessionId,
      team_id: team.id,
      client_id: client.client_id,
      request: JSON.stringify(request),
      expires_at: store.clock.now() + CONSENT_MS,
    });
    await removeOldConsents(tx, actor.sessionId, CONSENTS_MAX);
  });
  if (!before) return { token, team, before };
  const limited = { limits: readStored(before.limits), expiresAt: before.expires_at };
  return { token, team, before: { ...limited, scopes: before.scopes.split(' ') as Scope[] } };
}

/** `false`, or the limits that the person sets for the app, and those of the requested scopes that it gets. */
type Decision = false | { limits: LimitsAsked; scopes: readonly Scope[] };

/** The request as the person allowed it. */
export type AllowedRequest = AuthorizationRequest & { limited?: Limited };

/** Stores the decision. Returns the address to redirect the browser to: the app, with a code or an error. */
export async function answerConsent(ctx: ConsentCtx, token: string, decision: Decision): Promise<string> {
  const { store, actor } = ctx;
  // Checked before the request is used up, so that an invalid limit leaves it open.
  const limited = decision && changedLimits(UNLIMITED, decision.limits, store.clock.now());
  if (decision && decision.scopes.length === 0) throw noScope();
  const row = await store.db.tx((tx) => takeConsent(tx, hashToken(token), actor.sessionId));
  if (!row || row.expires_at <= store.clock.now()) throw answered();
  const request = JSON.parse(row.request) as AuthorizationRequest;
  const client = await findClient(store.db, row.client_id);
  if (client && client.disabled_at !== null) throw refuse('invalid_permission', { say: CLIENT_DISABLED });
  // The redirect addresses of the client may have changed since the page was shown.
  const isKnown = client && (JSON.parse(client.redirect_uris) as string[]).includes(request.redirectUri);
  if (!isKnown) throw refuse('not_found', { say: CLIENT_GONE });
  if (!decision || !limited) {
    return refusedTo(store, request, { error: 'access_denied', message: 'The person denied the request.' });
  }
  const scopes = request.scopes.filter((scope) => decision.scopes.includes(scope));
  if (scopes.length === 0) throw noScope();
  return allowedTo(store, request, await allow(ctx, row.team_id, client, { ...request, scopes, limited }));
}

async function allow(ctx: ConsentCtx, teamId: string, client: ClientRow, request: AllowedRequest): Promise<string> {
  const { store, actor } = ctx;
  const code = newToken('rkc_');
  const grantId = store.ids.uuid();
  const audit = audited(store, {
    team_id: teamId,
    action: 'oauth_grant.allowed',
    subject_id: grantId,
    ...describeActor(actor),
    address: ctx.browser.address,
    user_agent: ctx.browser.userAgent.slice(0, USER_AGENT_CHARS_MAX),
    request_id: ctx.requestId,
    details: formatDetails(client.client_id, request),
  });
  await audit.store.db.tx(async (tx) => {
    await lockPerson(tx, actor.userId);
    // If the session has ended meanwhile, for example because of a new password, it must not authorize an app any more.
    if ((await teamOfSession(tx, actor.sessionId, store.clock.now())) === undefined) throw ended();
    if (!(await holdClient(tx, client.client_id))) throw refuse('invalid_permission', { say: CLIENT_GONE });
    const member = await holdMembershipInTeam(tx, actor.userId, teamId);
    const team = await findTeam(tx, teamId);
    if (!member || team?.risk_state !== 'normal') {
      throw refuse('invalid_permission', { say: 'You are no longer a member of this team, or the team is suspended.' });
    }
    await insertCode(tx, {
      code_hash: hashToken(code),
      grant_id: grantId,
      team_id: teamId,
      member_id: member.id,
      user_id: actor.userId,
      client_id: client.client_id,
      request: JSON.stringify(request),
      expires_at: store.clock.now() + CODE_MS,
    });
  });
  return code;
}

const formatDetails = (clientId: string, { client, scopes, limited = UNLIMITED }: AllowedRequest): string =>
  JSON.stringify({ client_id: clientId, client_name: client.name, scopes, limits: presentLimits(limited) });

const CLIENT_GONE = 'The app removed or changed its registration, or was disabled. Go back to the app and start again.';

const noScope = (): Refusal =>
  invalidField('scope', 'scope must be at least one of the permissions that the app asks for');

const ended = (): Refusal =>
  refuse('invalid_permission', { say: 'Your session has just ended. Sign in, then start again in the app.' });

const answered = (): Refusal =>
  refuse('validation_error', {
    status: 422,
    say: 'This request was already answered or has expired. Go back to the app and start again.',
  });

const IS_ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * Lists the live grants of a person in every team; in a session that began through a team's single sign-on, only those
 * of that team.
 */
export async function listOwnGrants(
  { store, actor }: Pick<ConsentCtx, 'store' | 'actor'>,
  after: string | undefined,
): Promise<{ rows: OwnGrant[]; hasMore: boolean }> {
  const teamId = await ssoTeamOfSession(store.db, actor.sessionId);
  const page: Page = { limit: 50, after: after !== undefined && IS_ID.test(after) ? after : undefined };
  return liveGrantPageOfUser(store.db, { userId: actor.userId, teamId, now: store.clock.now() }, page);
}

/**
 * Revokes a grant of this person, in any team that the session reaches, and records it in that team's audit log. One
 * that has already ended stays as it is.
 */
export const revokeOwnGrant = (ctx: ConsentCtx, id: string): Promise<void> =>
  changeOwn(ctx, id, { action: 'oauth_grant.revoked', details: null }, async (tx) => {
    await lockGrant(tx, id);
    await revokeGrantRow(tx, id, { at: ctx.store.clock.now(), reason: 'user' });
  });

/** Limits a grant of this person, under the same conditions as `revokeOwnGrant`. */
export const limitOwnGrant = (ctx: ConsentCtx, id: string, asked: LimitsAsked): Promise<void> =>
  changeOwn(ctx, id, { action: 'oauth_grant.limited', details: JSON.stringify(asked) }, async (tx) => {
    await limitLocked(tx, await lockGrant(tx, id), { asked, now: ctx.store.clock.now() });
  });

export async function findOwnGrant(
  { store, actor }: Pick<ConsentCtx, 'store' | 'actor'>,
  id: string,
): Promise<GrantRow> {
  const found = IS_ID.test(id) ? await findGrantOfUser(store.db, actor.userId, id.toLowerCase()) : undefined;
  const only = await ssoTeamOfSession(store.db, actor.sessionId);
  if (!found || (only !== null && found.team_id !== only)) throw noGrant();
  return found;
}

async function changeOwn(
  ctx: ConsentCtx,
  id: string,
  { action, details }: { action: string; details: string | null },
  change: (tx: Executor) => Promise<void>,
): Promise<void> {
  const { store, actor, browser, requestId } = ctx;
  const found = await findOwnGrant(ctx, id);
  const audit = audited(store, {
    team_id: found.team_id,
    action,
    subject_id: found.id,
    ...describeActor(actor),
    address: browser.address,
    user_agent: browser.userAgent.slice(0, USER_AGENT_CHARS_MAX),
    request_id: requestId,
    details,
  });
  await audit.store.db.tx(change);
}

const noGrant = (): Refusal => notFound('Grant');
