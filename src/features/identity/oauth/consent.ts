import { refuse, type Refusal } from '../../../platform/refusal/index.ts';
import { hashToken, newToken } from '../../../platform/secrets/index.ts';
import type { Store } from '../../../platform/store/index.ts';
import type { Actor, Browser } from '../../../tenancy/access/index.ts';
import { audited, whoActed } from '../../../tenancy/audit/index.ts';
import { teamOfSession } from '../../../tenancy/session-rows/index.ts';
import { findTeam, type TeamRow } from '../../../tenancy/teams/index.ts';
import { insertCode, insertConsent, removeOldConsents, takeConsent } from './asks.store.ts';
import { allowedTo, CLIENT_DISABLED, refusedTo, type AuthorizationRequest } from './authorization.ts';
import { findClient, holdClient, type ClientRow } from './clients.store.ts';
import { holdMembershipOf, latestLiveGrant, lockPerson } from './grants.store.ts';
import { changedLimits, presentLimits, readStored, UNLIMITED, type Limited, type LimitsAsked } from './limits.ts';

const CONSENT_MS = 10 * 60_000;
const CODE_MS = 5 * 60_000;
/** How many pages of a session wait for an answer: a person has a few tabs. */
const CONSENTS_MAX = 20;
const USER_AGENT_CHARS_MAX = 500;

export interface ConsentCtx {
  store: Store;
  browser: Pick<Browser, 'address' | 'userAgent'>;
  requestId: string;
  actor: Extract<Actor, { kind: 'session' }>;
}

export interface Ask {
  /** For the form: it answers this page of this session, once. */
  token: string;
  team: TeamRow;
  /** What the same app is kept to by what this person let in before, and may still act. */
  before: Limited | undefined;
}

/** Writes down what a person is asked for the team of their session; undefined where they are in none. */
export async function askForConsent(
  { store, actor }: ConsentCtx,
  teamId: string | null,
  { client, request }: { client: ClientRow; request: AuthorizationRequest },
): Promise<Ask | undefined> {
  const team = teamId === null ? undefined : await findTeam(store.db, teamId);
  if (!team) return undefined;
  const before = await latestLiveGrant(store.db, {
    ...{ userId: actor.userId, teamId: team.id, clientId: client.client_id, now: store.clock.now() },
  });
  const token = newToken('');
  await store.db.txUnsynced(async (tx) => {
    await insertConsent(tx, {
      ...{ token_hash: hashToken(token), session_id: actor.sessionId, team_id: team.id, client_id: client.client_id },
      ...{ request: JSON.stringify(request), expires_at: store.clock.now() + CONSENT_MS },
    });
    await removeOldConsents(tx, actor.sessionId, CONSENTS_MAX);
  });
  return { token, team, before: before && { limits: readStored(before.limits), expiresAt: before.expires_at } };
}

/** `false`, or what the person keeps the app to. */
export type Decision = false | LimitsAsked;

/** What was asked, as the person has allowed it. */
export type AllowedRequest = AuthorizationRequest & { limited?: Limited };

/** Answers where the browser goes: to the app, with a code or a refusal. */
export async function answerConsent(ctx: ConsentCtx, token: string, decision: Decision): Promise<string> {
  const { store, actor } = ctx;
  // Before the question is taken: a limit that cannot be set leaves it open.
  const limited = decision && changedLimits(UNLIMITED, decision, store.clock.now());
  const row = await store.db.tx((tx) => takeConsent(tx, hashToken(token), actor.sessionId));
  if (!row || row.expires_at <= store.clock.now()) throw answered();
  const request = JSON.parse(row.request) as AuthorizationRequest;
  const client = await findClient(store.db, row.client_id);
  if (client && client.disabled_at !== null) throw refuse('invalid_permission', { say: CLIENT_DISABLED });
  // What it may be answered at can have changed since the page was shown.
  const isKnown = client && (JSON.parse(client.redirect_uris) as string[]).includes(request.redirectUri);
  if (!isKnown) throw refuse('not_found', { say: CLIENT_GONE });
  if (!limited) {
    return refusedTo(store, request, { error: 'access_denied', message: 'The person has not allowed it.' });
  }
  return allowedTo(store, request, await allow(ctx, row.team_id, client, { ...request, limited }));
}

async function allow(ctx: ConsentCtx, teamId: string, client: ClientRow, request: AllowedRequest): Promise<string> {
  const { store, actor } = ctx;
  const code = newToken('rkc_');
  const grantId = store.ids.uuid();
  const audit = audited(store, {
    ...{ team_id: teamId, action: 'oauth_grant.allowed', subject_id: grantId, ...whoActed(actor) },
    ...{ address: ctx.browser.address, user_agent: ctx.browser.userAgent.slice(0, USER_AGENT_CHARS_MAX) },
    request_id: ctx.requestId,
    details: detailsOf(client.client_id, request),
  });
  await audit.store.db.tx(async (tx) => {
    await lockPerson(tx, actor.userId);
    // What has ended the session meanwhile, as a new password does, has ended what it would have let in.
    if ((await teamOfSession(tx, actor.sessionId, store.clock.now())) === undefined) throw ended();
    if (!(await holdClient(tx, client.client_id))) throw refuse('invalid_permission', { say: CLIENT_GONE });
    const member = await holdMembershipOf(tx, actor.userId, teamId);
    const team = await findTeam(tx, teamId);
    if (!member || team?.risk_state !== 'normal') {
      throw refuse('invalid_permission', { say: 'You are not in this team any more, or it is suspended.' });
    }
    await insertCode(tx, {
      ...{ code_hash: hashToken(code), grant_id: grantId, team_id: teamId, member_id: member.id },
      ...{ user_id: actor.userId, client_id: client.client_id, request: JSON.stringify(request) },
      expires_at: store.clock.now() + CODE_MS,
    });
  });
  return code;
}

const detailsOf = (clientId: string, { client, scopes, limited = UNLIMITED }: AllowedRequest): string =>
  JSON.stringify({ client_id: clientId, client_name: client.name, scopes, limits: presentLimits(limited) });

const CLIENT_GONE = 'The app has taken back its registration, or was disabled.';

const ended = (): Refusal =>
  refuse('invalid_permission', { say: 'Your session has ended at this moment; sign in, then begin again in the app.' });

const answered = (): Refusal =>
  refuse('validation_error', {
    status: 422,
    say: 'This question was answered already, or it is too old. Go back to the app and begin again.',
  });
