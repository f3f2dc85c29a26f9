import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { Scope } from '../../../contract/index.ts';
import type { Executor } from '../../../platform/db/index.ts';
import { hashToken, newToken, randomSecret } from '../../../platform/secrets/index.ts';
import type { Store } from '../../../platform/store.ts';
import type { NobodyCtx, Actor, Identity } from '../../../tenancy/access/index.ts';
import {
  lockCode,
  removeCode,
  findToken,
  insertTokens,
  removeTokensOfGrant,
  removeToken,
  findLiveAccess,
  removeAsksBefore,
  removeTokensBefore,
  type CodeRow,
} from './tokens.store.ts';
import { CLIENT_DISABLED, type AllowedRequest } from './consent.ts';
import { GRANT_TYPES, type GrantType } from './client-metadata.ts';
import { findClient, holdClient, markClientUsed, removeUnusedClients, type ClientRow } from './clients.store.ts';
import {
  countRefresh,
  findGrantStatus,
  holdMembership,
  insertGrant,
  lockGrantOfCode,
  lockGrantOfFamily,
  setRefresh,
  setRefreshed,
  endRefreshGrace,
  forgetRefresh,
  lockGrant,
  noteGrantUsed,
  removeGrantsBefore,
  removeSendsBefore,
  type GrantRow,
} from './grants.store.ts';
import { revokeByItself, storedLimits, UNLIMITED, readStored, type NotifyByMail } from './grants.ts';
import {
  OauthRefusal,
  oauthRefusal,
  neededText,
  readScopes,
  readParameter,
  narrowed,
  readResource,
  type Fields,
  type Resource,
} from './parameters.ts';
import { isoTime } from '../../../platform/clock.ts';
import { refuse } from '../../../platform/refusal.ts';

const FORM = /^(rkr_[\w-]{32})[\w-]{32}$/;

/**
 * Returns the first half of a refresh token, which all refresh tokens of a grant share. It distinguishes an earlier
 * token from one that never existed, although no old tokens are stored. Returns undefined if the text is not in the
 * form of a token.
 */
const parseFamily = (refreshToken: string): string | undefined => FORM.exec(refreshToken)?.[1];

const ACCESS_SECONDS = 3600;
/**
 * For so long the refresh token that was just used returns the same tokens again: two windows of one app that refresh at
 * the same moment do not end its access.
 */
const GRACE_MS = 10_000;
const HOUR_MS = 3_600_000;
const REFRESHES_MAX = 60;
const DAY_MS = 24 * 3_600_000;
const VERIFIER = /^[A-Za-z0-9._~-]{43,128}$/;

interface TokenPair {
  access_token: string;
  token_type: 'Bearer';
  expires_in: 3600;
  refresh_token?: string;
  scope: string;
}

/** `reused`: the code or token was used before, and its grant must end. */
type Outcome = { pair: TokenPair } | { reused: GrantRow } | { refused: OauthRefusal };

export async function exchangeToken(ctx: NobodyCtx, fields: Fields, notify: NotifyByMail): Promise<TokenPair> {
  const type = neededText(fields, 'grant_type');
  const clientId = neededText(fields, 'client_id');
  if (!isGrantType(type)) {
    throw oauthRefusal('unsupported_grant_type', 'grant_type must be authorization_code or refresh_token.');
  }
  const client = await findClient(ctx.store.db, clientId);
  if (!client) throw oauthRefusal('invalid_client', 'Unknown client; register it again.');
  if (client.disabled_at !== null) throw oauthRefusal('unauthorized_client', CLIENT_DISABLED);
  if (!readGrantTypes(client).includes(type)) {
    throw oauthRefusal('unauthorized_client', `This client is not registered for the grant type ${type}.`);
  }
  const isByCode = type === 'authorization_code';
  const outcome = isByCode ? await byCode(ctx, client, fields) : await byRefresh(ctx, client, fields);
  return settle(ctx, outcome, { reason: isByCode ? 'code_reuse' : 'refresh_reuse', notify });
}

const isGrantType = (type: string): type is GrantType => (GRANT_TYPES as readonly string[]).includes(type);
const readGrantTypes = (client: ClientRow): GrantType[] => JSON.parse(client.grant_types) as GrantType[];

function readTarget({ origin }: Store, fields: Fields): Resource | undefined {
  const resource = readParameter(fields, 'resource');
  return resource === undefined ? undefined : readResource(origin(), resource);
}

async function byCode({ store }: NobodyCtx, client: ClientRow, fields: Fields): Promise<Outcome> {
  const codeHash = hashToken(neededText(fields, 'code'));
  const redirectUri = neededText(fields, 'redirect_uri');
  const verifier = neededText(fields, 'code_verifier');
  if (!VERIFIER.test(verifier)) {
    throw oauthRefusal(
      'invalid_request',
      'code_verifier must have 43 to 128 characters from letters, digits and - . _ ~',
    );
  }
  const target = readTarget(store, fields);
  return store.db.tx(async (tx): Promise<Outcome> => {
    const code = await lockCode(tx, codeHash);
    if (!code) {
      const reused = await lockGrantOfCode(tx, codeHash);
      return reused ? { reused } : { refused: noCode() };
    }
    const request = JSON.parse(code.request) as AllowedRequest;
    const isRight =
      code.client_id === client.client_id &&
      request.redirectUri === redirectUri &&
      isSame(request.challenge, createHash('sha256').update(verifier).digest('base64url'));
    if (!isRight || code.expires_at <= store.clock.now()) return { refused: noCode() };
    if (!(await holdClient(tx, client.client_id))) return { refused: noCode() };
    const isMember = await holdMembership(tx, { ...code, id: code.member_id });
    if (!isMember || (await findGrantStatus(tx, code))?.risk_state !== 'normal') return { refused: noPerson() };
    const resource = narrowed(request.resource, target);
    const grant = await begin(tx, store, code, request);
    await markClientUsed(tx, client.client_id, store.clock.now());
    return { pair: await issue(tx, store, client, grant, { scopes: request.scopes, resource }) };
  });
}

async function begin(tx: Executor, store: Store, code: CodeRow, request: AllowedRequest) {
  const { limits, expiresAt } = request.limited ?? UNLIMITED;
  const grant = {
    id: code.grant_id,
    team_id: code.team_id,
    user_id: code.user_id,
    member_id: code.member_id,
    client_id: code.client_id,
    client_name: request.client.name,
    client_logo_uri: request.client.logoUri,
    scopes: request.scopes.join(' '),
    resource: request.resource,
    code_hash: code.code_hash,
    created_at: store.clock.now(),
    limits: storedLimits(limits),
    expires_at: expiresAt,
  };
  await removeCode(tx, code.code_hash);
  await insertGrant(tx, grant);
  return grant;
}

async function byRefresh({ store }: NobodyCtx, client: ClientRow, fields: Fields): Promise<Outcome> {
  const shown = neededText(fields, 'refresh_token');
  const family = parseFamily(shown);
  const tokenHash = hashToken(shown);
  const scope = readParameter(fields, 'scope');
  const asked = scope === undefined ? [] : readScopes(scope);
  const target = readTarget(store, fields);
  return store.db.tx(async (tx): Promise<Outcome> => {
    const grant = family === undefined ? undefined : await lockGrantOfFamily(tx, hashToken(family));
    if (!grant || family === undefined || grant.revoked_at !== null) return { refused: noRefresh() };
    const now = store.clock.now();
    const isRepeated = isJustRefreshed(grant, { tokenHash, clientId: client.client_id, now });
    if (grant.refresh_hash !== tokenHash && !isRepeated) return { reused: grant };
    // Read after locking. The newest token is missing here if it was not refreshed for too long and has expired.
    const token = await findToken(tx, grant.refresh_hash ?? '');
    if (!token) return { refused: noRefresh() };
    if (grant.client_id !== client.client_id || token.expires_at <= now) return { refused: noRefresh() };
    if (grant.expires_at !== null && grant.expires_at <= now) return { refused: atItsEnd() };
    if ((await findGrantStatus(tx, grant))?.risk_state !== 'normal') return { refused: noPerson() };
    const granted = readScopes(grant.scopes);
    const wider = asked.find((one) => !granted.includes(one));
    if (wider !== undefined) return { refused: oauthRefusal('invalid_scope', `The grant does not include ${wider}.`) };
    const resource = narrowed(grant.resource, target);
    const limited = await countOne(tx, grant, now);
    if (limited) return { refused: limited };
    const scopes = asked.length > 0 ? asked : granted;
    if (isRepeated) return { pair: await repeatPair(tx, store, grant, { shown, family, scopes, resource }) };
    await removeTokensOfGrant(tx, grant.id);
    const seed = randomSecret(SEED_BYTES).toString('base64url');
    const made = derivePair(shown, { seed, family, scopes, resource });
    const pair = await issue(tx, store, client, grant, { ...made, scopes, resource, family });
    await setRefreshed(tx, grant.id, { previousHash: tokenHash, seed, at: now });
    return { pair };
  });
}

const SEED_BYTES = 32;
const TOKEN_BYTES = 24;

/** Reports whether this token was exchanged for the newest one moments ago, by the same app. */
const isJustRefreshed = (
  grant: GrantRow,
  { tokenHash, clientId, now }: { tokenHash: string; clientId: string; now: number },
): boolean =>
  grant.refresh_previous_hash === tokenHash &&
  grant.refresh_hash !== null &&
  grant.client_id === clientId &&
  grant.refreshed_at !== null &&
  now - grant.refreshed_at < GRACE_MS;

interface Derived {
  shown: string;
  family: string;
  scopes: readonly Scope[];
  resource: Resource;
}

/**
 * Derives the next tokens from the refresh token that was shown and a random seed of its grant, so that they can be
 * returned twice although only their hashes are stored. Neither the seed nor a token alone is enough.
 */
function derivePair(
  shown: string,
  { seed, family, scopes, resource }: Omit<Derived, 'shown'> & { seed: string },
): { access: string; refresh: string } {
  const derive = (purpose: string): string =>
    createHmac('sha256', shown).update(`${seed} ${purpose}`).digest().subarray(0, TOKEN_BYTES).toString('base64url');
  return {
    access: ACCESS_PREFIX + derive(`access ${resource} ${scopes.join(' ')}`),
    refresh: family + derive('refresh'),
  };
}

/** Returns the tokens that the same refresh returned moments ago, or its refresh token with another access token. */
async function repeatPair(
  tx: Executor,
  store: Store,
  grant: GrantRow,
  { shown, ...wanted }: Derived,
): Promise<TokenPair> {
  const { access, refresh } = derivePair(shown, { ...wanted, seed: grant.refresh_seed ?? '' });
  if (hashToken(refresh) !== grant.refresh_hash)
    throw new Error(`refresh token of grant ${grant.id} not derived again`);
  const scope = wanted.scopes.join(' ');
  await removeToken(tx, hashToken(access));
  await insertTokens(tx, [toAccessRow(access, grant.id, { scope, resource: wanted.resource, now: store.clock.now() })]);
  return { access_token: access, token_type: 'Bearer', expires_in: ACCESS_SECONDS, scope, refresh_token: refresh };
}

const toAccessRow = (
  access: string,
  grantId: string,
  { scope, resource, now }: { scope: string; resource: Resource; now: number },
) => ({
  token_hash: hashToken(access),
  grant_id: grantId,
  kind: 'access' as const,
  scopes: scope,
  resource,
  expires_at: now + ACCESS_SECONDS * 1000,
});

/** Counts a refresh. Returns the error if it would exceed the hourly limit; the token is not used up then. */
async function countOne(tx: Executor, grant: GrantRow, now: number): Promise<OauthRefusal | undefined> {
  const { refreshes_since: since } = grant;
  const isSame = since !== null && now - since < HOUR_MS;
  if (isSame && grant.refreshes >= REFRESHES_MAX) {
    const say = `This grant was refreshed ${REFRESHES_MAX} times within an hour; an access token is valid for an hour.`;
    return new OauthRefusal('invalid_request', say, Math.ceil((since + HOUR_MS - now) / 1000));
  }
  await countRefresh(tx, grant.id, isSame ? { count: grant.refreshes + 1, since } : { count: 1, since: now });
  return undefined;
}

/** Issues tokens. The refresh token always covers everything that was granted (RFC 6749 §6). */
async function issue(
  tx: Executor,
  { clock, config }: Store,
  client: ClientRow,
  grant: Pick<GrantRow, 'id' | 'scopes' | 'resource'>,
  {
    scopes,
    resource,
    family = newToken('rkr_'),
    ...made
  }: { scopes: readonly Scope[]; resource: Resource; family?: string; access?: string; refresh?: string },
): Promise<TokenPair> {
  const now = clock.now();
  const access = made.access ?? newToken(ACCESS_PREFIX);
  const refresh = readGrantTypes(client).includes('refresh_token') ? (made.refresh ?? newToken(family)) : undefined;
  const scope = scopes.join(' ');
  const rows = [
    toAccessRow(access, grant.id, { scope, resource, now }),
    ...(refresh === undefined
      ? []
      : [
          {
            token_hash: hashToken(refresh),
            grant_id: grant.id,
            kind: 'refresh' as const,
            scopes: grant.scopes,
            resource: grant.resource,
            expires_at: now + config.oauth.refresh_days * DAY_MS,
          },
        ]),
  ];
  await insertTokens(tx, rows);
  if (refresh !== undefined) await setRefresh(tx, grant.id, { family: hashToken(family), hash: hashToken(refresh) });
  return {
    access_token: access,
    token_type: 'Bearer',
    expires_in: ACCESS_SECONDS,
    scope,
    ...(refresh !== undefined && { refresh_token: refresh }),
  };
}

/**
 * Returns the tokens or throws. If a token was used before, either the caller or the previous user has stolen it, and
 * it is unknown who: both lose access, including the tokens issued on the first use.
 */
async function settle(
  ctx: NobodyCtx,
  outcome: Outcome,
  { reason, notify }: { reason: 'code_reuse' | 'refresh_reuse'; notify: NotifyByMail },
): Promise<TokenPair> {
  if ('pair' in outcome) return outcome.pair;
  if ('refused' in outcome) throw outcome.refused;
  await revokeByItself(ctx.store, outcome.reused, { reason, notify }, ctx);
  throw reason === 'code_reuse'
    ? oauthRefusal('invalid_grant', 'The code was already used; the access granted with it has been revoked.')
    : oauthRefusal('invalid_grant', 'The refresh token was already used; its grant has been revoked.');
}

const isSame = (one: string, other: string): boolean =>
  one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other));

const noCode = (): OauthRefusal =>
  oauthRefusal(
    'invalid_grant',
    'The code has expired, or is not valid for this client, redirect_uri and code_verifier.',
  );
const noRefresh = (): OauthRefusal =>
  oauthRefusal('invalid_grant', 'The refresh token has expired, or is not valid for this client.');
const atItsEnd = (): OauthRefusal =>
  oauthRefusal('invalid_grant', 'The access that the person granted has expired; the app has to request it again.');
const noPerson = (): OauthRefusal =>
  oauthRefusal(
    'invalid_grant',
    'The person who authorized the app is no longer a member of the team or has to sign in to it with single sign-on first, or the team is suspended.',
  );

export const ACCESS_PREFIX = 'rko_';

const NOTED_MS = 60_000;

/**
 * Creates the authentication by access tokens. Nothing is cached between requests except the time of use: everything a
 * grant depends on is read for each request, on every node. `at` is the endpoint that gets the token; a token for /mcp
 * is accepted only there.
 */
export function createGrantAuthentication(
  store: Store,
  at: Resource = 'api',
): (token: string) => Promise<Identity<Extract<Actor, { kind: 'oauth_grant' }>> & { teamId: string }> {
  return async (token) => {
    const now = store.clock.now();
    const found = await findLiveAccess(store.db, hashToken(token), now);
    if (!found) throw refuse('invalid_api_key', { say: 'This access token is not valid or has expired.' });
    if (found.resource === 'mcp' && at !== 'mcp') {
      throw refuse('invalid_api_key', { say: `This access token is only valid for ${store.origin()}/mcp.` });
    }
    if (found.ends_at !== null && found.ends_at <= now) {
      throw refuse('invalid_api_key', {
        say: `The access that the person granted ended at ${isoTime(found.ends_at)} (expires_at of its grant); the app has to request it again.`,
      });
    }
    if (found.risk_state === 'suspended') throw refuse('suspended_api_key', { say: 'This team is suspended.' });
    if (now - (found.last_used_at ?? 0) >= NOTED_MS) {
      await store.db.txUnsynced((tx) => noteGrantUsed(tx, found.grant_id, now));
    }
    const {
      grant_id: grantId,
      client_id: clientId,
      client_name: clientName,
      user_id: userId,
      email: name,
      role,
    } = found;
    return {
      teamId: found.team_id,
      actor: {
        kind: 'oauth_grant',
        grantId,
        clientId,
        clientName,
        userId,
        name,
        scopes: found.scopes.split(' '),
        role,
        limits: readStored(found.limits),
      },
    };
  };
}

const GRANTS_KEPT_MS = 365 * DAY_MS;
const CLIENTS_KEPT_MS = 30 * DAY_MS;

/** Removes expired requests and tokens. */
export async function removeExpiredOauth({ db, clock }: Store): Promise<void> {
  await removeAsksBefore(db, clock.now());
  await removeTokensBefore(db, clock.now());
  await removeSendsBefore(db, Math.floor(clock.now() / DAY_MS));
}

/** Removes grants that ended a year ago, and clients that no person has authorized for a month. */
export async function removeUnusedOauth({ db, clock }: Store): Promise<void> {
  await removeGrantsBefore(db, clock.now() - GRANTS_KEPT_MS);
  await removeUnusedClients(db, clock.now() - CLIENTS_KEPT_MS);
}

/**
 * Revokes a token (RFC 7009). A token that does not belong to the caller gets the same response as if it had been
 * revoked. The response has no body.
 */
export async function revokeToken({ store }: NobodyCtx, fields: Fields): Promise<''> {
  const shown = neededText(fields, 'token');
  const tokenHash = hashToken(shown);
  const clientId = neededText(fields, 'client_id');
  readParameter(fields, 'token_type_hint');
  const found = await findToken(store.db, tokenHash);
  const family = parseFamily(shown);
  if (!found && family === undefined) return '';
  await store.db.tx(async (tx) => {
    // Lock first, so that a concurrent refresh leaves no token pair.
    const isAccess = found?.kind === 'access';
    const grant = isAccess
      ? await lockGrant(tx, found.grant_id)
      : family !== undefined && (await lockGrantOfFamily(tx, hashToken(family)));
    if (!grant || grant.client_id !== clientId) return;
    if (isAccess) {
      await removeToken(tx, tokenHash);
      // The refresh that returned it must not return it again.
      await endRefreshGrace(tx, grant.id);
    } else {
      await removeTokensOfGrant(tx, grant.id);
      await forgetRefresh(tx, grant.id);
    }
  });
  return '';
}
