import type { JSONWebKeySet, JWTPayload } from 'jose';
import { refuse } from '../../../platform/refusal.ts';
import { hashToken } from '../../../platform/secrets/index.ts';
import type { World } from '../../../platform/world.ts';
import type { NobodyCtx } from '../../../tenancy/access/index.ts';
import { audited, describeActor } from '../../../tenancy/audit/index.ts';
import { endSessionsOfProviderSession, endSsoSessions } from '../../../tenancy/session-rows/index.ts';
import {
  connectionOfClient,
  connectionsOfLogout,
  hasAnswer,
  identityOfSubject,
  noteAnswer,
  type ConnectionRow,
} from '../../../tenancy/sso-rows/index.ts';
import { revokeGrantsInTeam } from '../oauth/grants.ts';
import { neededText, oauthRefusal, type Fields } from '../oauth/parameters.ts';
import { ALGORITHMS, askForKeys, findCachedKeys, KEYS_AGAIN_MS, loadMetadata, ProviderFault } from './providers.ts';
import { ISSUED_SECONDS_MAX, TOLERANCE_SECONDS } from './sign-in.ts';

type Library = typeof import('jose');

/** Loads the library on the first logout: many installations have none. */
const library = (): Promise<Library> => import('jose');

const TOKEN_CHARS_MAX = 16_384;
const EVENT = 'http://schemas.openid.net/event/backchannel-logout';
/** OpenID Connect Back-Channel Logout 1.0 §2.4 recommends the first; many providers send the second, or none. */
const TYPES = new Set<unknown>(['logout+jwt', 'JWT', undefined]);

interface Logout {
  issuer: string;
  clientId: string;
  tokenId: string;
  subject: string | undefined;
  /** Hash of the `sid`. */
  sidHash: string | undefined;
}

/**
 * Ends sessions because a provider says that a person signed out there, or was removed (OpenID Connect Back-Channel
 * Logout 1.0). With a `sid`, the sessions that began in that session of the provider end. Without one, all sessions of
 * the person that began through the provider end, and so does the access of apps that the person authorized for the
 * team, as after signing out everywhere. A session that is unknown or has ended is no fault.
 */
export async function endProviderSession(
  { store, browser, requestId }: NobodyCtx<World>,
  fields: Fields,
): Promise<string> {
  const token = neededText(fields, 'logout_token');
  const logout = await verifyToken(store, token);
  const used = hashToken(`logout ${JSON.stringify([logout.issuer, logout.clientId, logout.tokenId])}`);
  if (await hasAnswer(store.db, used)) throw refused('was used before');
  for (const connection of await connectionsOfLogout(store.db, logout)) {
    const audit = audited(store, {
      action: 'team_sso.signed_out',
      team_id: connection.team_id,
      subject_id: null,
      ...describeActor({ kind: 'job', name: 'single sign-on' }),
      address: browser.address,
      user_agent: browser.userAgent.slice(0, 500),
      request_id: requestId,
      details: JSON.stringify({ issuer: logout.issuer, subject: logout.subject?.slice(0, 255) ?? null }),
    });
    await endAt(audit.store, connection, logout);
  }
  // Recorded last, so that the provider can send the token again if this failed; ending a session twice does nothing.
  const isFirst = await store.db.tx((tx) => noteAnswer(tx, used, store.clock.now()));
  if (!isFirst) throw refused('was used before');
  return '';
}

/** Ends the sessions at one team. A `sub` and a `sid` that do not belong together end nothing. */
async function endAt(
  store: World,
  { id: connectionId, team_id: teamId }: ConnectionRow,
  { subject, sidHash }: Logout,
): Promise<void> {
  await store.db.tx(async (tx) => {
    const identity = subject === undefined ? undefined : await identityOfSubject(tx, connectionId, subject);
    if (subject !== undefined && !identity) return;
    const userId = identity?.user_id;
    if (sidHash !== undefined) return void (await endSessionsOfProviderSession(tx, { teamId, userId, sidHash }));
    if (userId === undefined) throw new Error('sub and sid are missing in a logout token that passed the checks');
    await endSsoSessions(tx, teamId, userId);
    await revokeGrantsInTeam(tx, { userId, teamId }, { at: store.clock.now(), reason: 'user' });
  });
}

const refused = (says: string) => oauthRefusal('invalid_request', `logout_token ${says}.`);

/** Returns what a logout token says. Throws unless every rule of §2.6 holds. */
async function verifyToken(world: World, token: string): Promise<Logout> {
  if (token.length > TOKEN_CHARS_MAX) throw refused(`must have at most ${TOKEN_CHARS_MAX} characters`);
  const jose = await library();
  const connection = await findConnection(world, readUnverified(jose, token));
  if (!connection) throw refused('is from an issuer, or for a client, that is not connected here');
  try {
    return readClaims(await verifySignature(jose, world, { connection, token }), connection);
  } catch (error) {
    if (error instanceof ProviderFault) {
      world.log.warn({ err: error, issuer: connection.issuer }, 'a logout of a provider could not be verified');
      throw refuse('service_unavailable', { say: 'The keys of the provider cannot be read at the moment.' });
    }
    if (error instanceof jose.errors.JOSEError) throw refused(`is not valid: ${error.message}`);
    throw error;
  }
}

function readUnverified({ decodeJwt }: Library, token: string): JWTPayload {
  try {
    return decodeJwt(token);
  } catch {
    throw refused('is not a JSON Web Token');
  }
}

/** Finds a connection by claims that are not verified yet; a token for several clients is refused. */
async function findConnection({ db }: World, { iss, aud }: JWTPayload): Promise<ConnectionRow | undefined> {
  const [clientId, ...more] = [aud].flat();
  if (typeof iss !== 'string' || typeof clientId !== 'string' || more.length > 0) return undefined;
  return connectionOfClient(db, { issuer: iss, clientId });
}

async function verifySignature(
  { jwtVerify, createLocalJWKSet, errors }: Library,
  world: World,
  { connection, token }: { connection: ConnectionRow; token: string },
): Promise<JWTPayload> {
  const metadata = await loadMetadata(world, connection);
  const verify = async (jwks: JSONWebKeySet): Promise<JWTPayload> => {
    const { payload, protectedHeader } = await jwtVerify(token, createLocalJWKSet(jwks), {
      // The metadata names only algorithms with a key that the provider alone has.
      algorithms: metadata.id_token_signing_alg_values_supported ?? [...ALGORITHMS],
      issuer: connection.issuer,
      audience: connection.client_id,
      currentDate: new Date(world.clock.now()),
      clockTolerance: TOLERANCE_SECONDS,
      maxTokenAge: ISSUED_SECONDS_MAX,
      requiredClaims: ['exp', 'iat', 'jti'],
    });
    if (!TYPES.has(protectedHeader.typ)) throw refused('has a type other than logout+jwt');
    return payload;
  };
  const known = findCachedKeys(world, connection);
  if (!known) return verify(await fetchKeys(world, connection, metadata.jwks_uri));
  return verify(known.jwks as JSONWebKeySet).catch(async (error: unknown) => {
    const mayAskAgain = world.clock.now() - known.at >= KEYS_AGAIN_MS;
    if (!(error instanceof errors.JWKSNoMatchingKey) || !mayAskAgain) throw error;
    return verify(await fetchKeys(world, connection, metadata.jwks_uri));
  });
}

async function fetchKeys(world: World, connection: ConnectionRow, url: string | undefined): Promise<JSONWebKeySet> {
  if (url === undefined) throw new ProviderFault('wrong', 'the provider names no jwks_uri');
  await askForKeys(world, connection, url);
  const keys = findCachedKeys(world, connection);
  if (!keys) throw new ProviderFault('down', `${url} returned no keys`);
  return keys.jwks as JSONWebKeySet;
}

function readClaims({ jti, sub, sid, nonce, events }: JWTPayload, connection: ConnectionRow): Logout {
  if (nonce !== undefined) throw refused('must not have a nonce');
  const event: unknown = isObject(events) ? events[EVENT] : undefined;
  if (!isObject(event)) throw refused('has no logout event');
  if (typeof jti !== 'string' || jti === '') throw refused('must have a jti');
  const subject = readText(sub);
  const session = readText(sid);
  if (subject === undefined && session === undefined) throw refused('has neither sub nor sid');
  return {
    issuer: connection.issuer,
    clientId: connection.client_id,
    tokenId: jti,
    subject,
    sidHash: session === undefined ? undefined : hashToken(session),
  };
}

/** Reads a claim that may be missing. */
function readText(value: unknown): string | undefined {
  if (value === undefined || (typeof value === 'string' && value !== '')) return value;
  throw refused('has a sub or sid that is not a text');
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
