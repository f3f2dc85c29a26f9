import { timingSafeEqual } from 'node:crypto';
import { hashToken, newToken } from '../../../platform/secrets/index.ts';
import type { World } from '../../../platform/world.ts';
import type { NobodyCtx, Browser } from '../../../tenancy/access/index.ts';
import { audited } from '../../../tenancy/audit/index.ts';
import { beginSession } from '../sessions/sessions.ts';
import {
  admit,
  domainOfAddress,
  readAddress,
  type Admission,
  type ProviderClaims,
  type Unadmitted,
} from '../sso/admit.ts';
import { buildRedirectUri } from '../sso/sso-connection.ts';
import {
  connectionById,
  connectionOfDomain,
  noteAnswer,
  noteNotAdmitted,
  clearProviderFault,
  SEALED_SSO_SECRETS,
  type ConnectionRow,
} from '../../../tenancy/sso-rows/index.ts';
import {
  ProviderFault,
  askProvider,
  noted,
  askForKeys,
  findCachedKeys,
  KEYS_AGAIN_MS,
  loadMetadata,
  START_METADATA_MS,
  toOneLine,
} from './providers.ts';
import type { Configuration, ServerMetadata } from 'openid-client';
import { systemClock } from '../../../platform/clock.ts';
import type { Store } from '../../../platform/store.ts';

/**
 * A sign-in in progress. It is sealed and kept in the browser, so that no other browser can finish it and nothing is
 * stored.
 */
interface Attempt {
  /** The provider that was asked; its response is used for no other. */
  connectionId: string;
  state: string;
  nonce: string;
  verifier: string;
  /** A path of this service. */
  next: string | undefined;
  startedAt: number;
}

const ATTEMPT_SECONDS = 600;
const PURPOSE = 'sso attempt';
const ROW = 'cookie';

/** RFC 7636 §4.1: a verifier has 43 to 128 characters. */
const random = (): string => newToken(newToken(''));

/** The prefix makes browsers refuse the cookie from a sibling host, which could plant an attempt of its own. */
const cookieName = ({ config }: Store): string => `${config.sessions.secure_cookie ? '__Host-' : ''}rasket_sso`;

const newAttempt = ({ clock }: Store, connectionId: string, next: string | undefined): Attempt => ({
  connectionId,
  next,
  startedAt: clock.now(),
  state: random(),
  nonce: random(),
  verifier: random(),
});

const keepAttempt = (store: Store, browser: Browser, attempt: Attempt): void =>
  browser.keep(cookieName(store), store.secrets.seal(JSON.stringify(attempt), PURPOSE, ROW), ATTEMPT_SECONDS);

/** Returns and ends the attempt that this browser began; undefined if it began none, or too long ago. */
function takeAttempt(store: Store, browser: Browser): Attempt | undefined {
  const name = cookieName(store);
  const sealed = browser.cookie(name);
  if (sealed === undefined) return undefined;
  browser.forget(name);
  const attempt = open(store, sealed);
  const isLive = attempt && store.clock.now() - attempt.startedAt < ATTEMPT_SECONDS * 1000;
  return isLive ? attempt : undefined;
}

function open({ secrets }: Store, sealed: string): Attempt | undefined {
  try {
    return JSON.parse(secrets.open(sealed, PURPOSE, ROW)) as Attempt;
  } catch {
    // The cookie is forged, or sealed with a key that is gone.
    return undefined;
  }
}

/** Maximum clock difference between two machines. */
export const TOLERANCE_SECONDS = 60;
/** Maximum age of a token; an older one does not belong to this sign-in. */
export const ISSUED_SECONDS_MAX = 600;

type Library = typeof import('openid-client');
type Tokens = Awaited<ReturnType<Library['authorizationCodeGrant']>>;

const AUTHS = ['client_secret_basic', 'client_secret_post'] as const;
type Auth = (typeof AUTHS)[number];

/** Loads the library on the first sign-in: many installations have none. */
const library = (): Promise<Library> => import('openid-client');

/** Returns the address to send the person to. */
async function authorizationUrl(
  world: World,
  connection: ConnectionRow,
  { attempt, redirectUri, email }: { attempt: Attempt; redirectUri: string; email: string },
): Promise<string> {
  const oidc = await library();
  const metadata = await loadMetadata(world, connection, START_METADATA_MS);
  const config = configurationFor(oidc, world, { connection, metadata });
  const url = oidc.buildAuthorizationUrl(config, {
    redirect_uri: redirectUri,
    scope: 'openid email profile',
    response_type: 'code',
    // The cookie has SameSite=Lax, so the browser does not send it with a form of the provider's page.
    response_mode: 'query',
    state: attempt.state,
    nonce: attempt.nonce,
    code_challenge: await oidc.calculatePKCECodeChallenge(attempt.verifier),
    code_challenge_method: 'S256',
    login_hint: email,
  });
  return url.href;
}

/**
 * Exchanges the code in a response for the provider's claims about the person. The response must come from this
 * provider, and the token must be signed by one of its keys, for this client and this sign-in, and be recent. Throws a
 * `ProviderFault`.
 */
async function redeem(
  world: World,
  connection: ConnectionRow,
  { attempt, answer }: { attempt: Attempt; answer: URL },
): Promise<SignedInClaims> {
  const oidc = await library();
  const metadata = await loadMetadata(world, connection);
  const work = redeemAt(oidc, world, { connection, metadata, attempt, answer });
  const claims = await noted(world, connection, { step: 'exchange', work });
  if (connection.failing_since !== null) await clearProviderFault(world.db, connection.id);
  return claims;
}

interface SignedInClaims extends ProviderClaims {
  /** The provider's id of its session; not every provider names one. */
  sid: string | undefined;
}

interface Redeemed {
  connection: ConnectionRow;
  metadata: ServerMetadata;
  attempt: Attempt;
  answer: URL;
}

async function redeemAt(
  oidc: Library,
  world: World,
  { connection, metadata, attempt, answer }: Redeemed,
): Promise<SignedInClaims> {
  let isAsked = false;
  const exchange = (auth: Auth): Promise<Tokens> => {
    const config = configurationFor(oidc, world, { connection, metadata, auth, onAsk: () => (isAsked = true) });
    oidc.enableNonRepudiationChecks(config);
    giveKeys(oidc, world, { connection, config });
    return oidc.authorizationCodeGrant(config, answer, {
      expectedState: attempt.state,
      expectedNonce: attempt.nonce,
      pkceCodeVerifier: attempt.verifier,
      idTokenExpected: true,
    });
  };
  const tokens = await believed(inEachWay(oidc, metadata, exchange)).catch((error: unknown) => {
    if (error instanceof ProviderFault) error.isOfAnswer = !isAsked || isOfCode(oidc, error.cause);
    throw error;
  });
  const claims = tokens.claims();
  if (!claims) throw new ProviderFault('wrong', 'the provider returned no ID token');
  mustBeOfNow(claims.iat, world.clock.now());
  if (claims.azp !== undefined && claims.azp !== connection.client_id) {
    throw new ProviderFault('wrong', 'the token was issued to another client');
  }
  const isWhole = claims.email !== undefined && claims.email_verified !== undefined;
  const asked = !isWhole && metadata.userinfo_endpoint !== undefined;
  const config = configurationFor(oidc, world, { connection, metadata });
  const told = asked ? await believed(oidc.fetchUserInfo(config, tokens.access_token, claims.sub)) : claims;
  return {
    subject: claims.sub,
    email: toText(told.email),
    // Some providers send it as a string.
    isVerified: told.email_verified === true || (told.email_verified as unknown) === 'true',
    name: toText(told.name) ?? toText(claims.name),
    sid: toText(claims.sid),
  };
}

/**
 * Passes the cached keys to the library. The library uses the machine's clock, so the age of the keys is given only as
 * far as it decides whether the library requests them again.
 */
function giveKeys(
  oidc: Library,
  world: World,
  { connection, config }: { connection: ConnectionRow; config: Configuration },
) {
  const keys = findCachedKeys(world, connection);
  if (!keys) return;
  const mayAskAgain = world.clock.now() - keys.at >= KEYS_AGAIN_MS;
  const uat = Math.floor(systemClock.now() / 1000) - (mayAskAgain ? KEYS_AGAIN_MS / 1000 : 0);
  oidc.setJwksCache(config, { jwks: keys.jwks, uat });
}

/**
 * Tries the two ways to authenticate a client: in a header, or in the form. Only one of them is registered, and the
 * provider does not reveal which, so the second is tried after the first is refused. A refusal does not use up the
 * code.
 */
async function inEachWay(
  oidc: Library,
  { token_endpoint_auth_methods_supported: listed }: ServerMetadata,
  exchange: (auth: Auth) => Promise<Tokens>,
): Promise<Tokens> {
  const ways = AUTHS.filter((one) => (listed ?? [AUTHS[0]]).includes(one));
  const [first, second] = ways;
  if (!first) {
    throw new ProviderFault('wrong', 'the provider accepts a client secret neither in a header nor in a form');
  }
  return exchange(first).catch((error: unknown) => {
    const isUnknown =
      error instanceof oidc.WWWAuthenticateChallengeError ||
      (error instanceof oidc.ResponseBodyError && error.error === 'invalid_client');
    if (second && isUnknown) return exchange(second);
    throw error;
  });
}

const toText = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined);

function mustBeOfNow(issuedAt: number, now: number): void {
  const age = now / 1000 - issuedAt;
  if (age > -TOLERANCE_SECONDS && age < ISSUED_SECONDS_MAX + TOLERANCE_SECONDS) return;
  throw new ProviderFault('wrong', `the token was issued ${Math.round(age)} seconds ago`);
}

interface Client {
  connection: ConnectionRow;
  metadata: ServerMetadata;
  auth?: Auth;
  /** Called before each request. */
  onAsk?: () => void;
}

function configurationFor(oidc: Library, world: World, { connection, metadata, auth, onAsk }: Client): Configuration {
  const secret = world.secrets.open(connection.client_secret, SEALED_SSO_SECRETS.purpose, connection.id);
  const by = auth === 'client_secret_post' ? oidc.ClientSecretPost : oidc.ClientSecretBasic;
  const client = {
    [oidc.clockSkew]: Math.round((world.clock.now() - systemClock.now()) / 1000),
    [oidc.clockTolerance]: TOLERANCE_SECONDS,
  };
  const config = new oidc.Configuration(metadata, connection.client_id, client, by(secret));
  // Only an issuer on this machine uses http; the address of each request is checked again.
  if (metadata.issuer.startsWith('http:')) oidc.allowInsecureRequests(config);
  config[oidc.customFetch] = (url, { method, headers, body }) => {
    onAsk?.();
    const text = body instanceof URLSearchParams ? body.toString() : typeof body === 'string' ? body : undefined;
    if (url === metadata.jwks_uri) return askForKeys(world, connection, url);
    return askProvider(world, url, { method, headers, body: text });
  };
  return config;
}

/** Turns any error of the library into a fault of the provider. Faults of the request itself are passed on. */
async function believed<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    const fault = findProviderFault(error);
    if (fault) throw fault;
    throw new ProviderFault('wrong', describeProviderError(error), error);
  }
}

function describeProviderError(error: unknown): string {
  if (!(error instanceof Error)) return 'a response that cannot be read';
  const { error: code, error_description: more } = error as { error?: unknown; error_description?: unknown };
  const claim = findInvalidClaim(error);
  if (claim !== undefined) return `${error.message} (${claim})`;
  if (typeof code !== 'string') return error.message;
  return `it said ${code}${typeof more === 'string' ? `: ${more}` : ''}`;
}

/** Returns the name of the invalid claim in a token, which the library's message omits. */
function findInvalidClaim(error: Error): string | undefined {
  for (let one: unknown = error, depth = 0; typeof one === 'object' && one !== null && depth < 4; depth++) {
    const { claim, cause } = one as { claim?: unknown; cause?: unknown };
    if (typeof claim === 'string') return claim;
    one = cause;
  }
  return undefined;
}

/**
 * Codes by which a provider refuses this client (RFC 6749 §5.2), rather than data from a browser: anybody can send an
 * invalid code.
 */
const REFUSES_US = new Set(['invalid_client', 'unauthorized_client', 'unsupported_grant_type', 'server_error']);

const isOfCode = (oidc: Library, cause: unknown): boolean =>
  cause instanceof oidc.ResponseBodyError && !REFUSES_US.has(cause.error);

function findProviderFault(error: unknown): ProviderFault | undefined {
  for (let one = error, depth = 0; one instanceof Error && depth < 5; one = one.cause, depth++)
    if (one instanceof ProviderFault) return one;
  return undefined;
}

/** Reason why a person is not signed in. */
export type SignInFault =
  | Unadmitted
  | 'bad_email'
  /** No provider is responsible for the domain; returned for every address of the domain alike. */
  | 'no_sso'
  /** This browser has begun no such sign-in, or too long ago. */
  | 'no_attempt'
  | 'answered_before'
  | 'provider_down'
  | 'provider_wrong'
  /** The provider itself has refused; `said` is its message. */
  | 'provider_refused';

export interface NotSignedIn {
  kind: 'refused';
  why: SignInFault;
  /** Host of the provider, if known. */
  provider?: string;
  said?: string;
}

/** Sends a person to the provider of the team that has proven the domain of their address. */
export async function startSignIn(
  { store, browser }: NobodyCtx<World>,
  { email, next }: { email: string; next: string | undefined },
): Promise<{ kind: 'redirect'; to: string } | NotSignedIn> {
  const address = readAddress(email);
  const domain = address === undefined ? undefined : domainOfAddress(address);
  if (address === undefined || domain === undefined) return { kind: 'refused', why: 'bad_email' };
  const connection = await connectionOfDomain(store.db, domain);
  if (!connection) return { kind: 'refused', why: 'no_sso' };
  const attempt = newAttempt(store, connection.id, next);
  return withProvider(store, connection, async () => {
    const to = await authorizationUrl(store, connection, {
      attempt,
      email: address,
      redirectUri: buildRedirectUri(store),
    });
    keepAttempt(store, browser, attempt);
    return { kind: 'redirect', to };
  });
}

/** Processes a provider's response from the browser, and begins a session. */
export async function finishSignIn(
  ctx: NobodyCtx<World>,
  answer: URLSearchParams,
): Promise<{ kind: 'signed_in'; next: string | undefined } | NotSignedIn> {
  const { store, browser } = ctx;
  const attempt = takeAttempt(store, browser);
  if (!attempt || !isSame(answer.get('state') ?? '', attempt.state)) return { kind: 'refused', why: 'no_attempt' };
  const isFirst = await store.db.tx((tx) => noteAnswer(tx, hashToken(attempt.state), store.clock.now()));
  if (!isFirst) return { kind: 'refused', why: 'answered_before' };
  const connection = await connectionById(store.db, attempt.connectionId);
  if (!connection) return { kind: 'refused', why: 'connection_gone' };
  const provider = extractHost(connection);
  const error = answer.get('error');
  if (error !== null && isOfIssuer(answer, connection)) {
    return { kind: 'refused', why: 'provider_refused', provider, said: error.slice(0, 100) };
  }
  return withProvider(store, connection, async () => {
    const claims = await redeem(store, connection, { attempt, answer: answerUrl(store, answer) });
    const admission = await admitAudited(ctx, connection, claims);
    if (admission.kind === 'refused') {
      const says = toOneLine(`${claims.email ?? claims.subject} was not signed in: ${NOT_ADMITTED[admission.why]}`);
      await noteNotAdmitted(store.db, connection.id, { says, at: store.clock.now() });
      return { ...admission, provider };
    }
    const from = { ssoTeamId: admission.teamId, ssoSid: claims.sid };
    await beginSession(ctx, admission.user, async () => undefined, from);
    return { kind: 'signed_in', next: attempt.next };
  });
}

/** Reasons for the owners of the team. */
const NOT_ADMITTED: Record<Unadmitted, string> = {
  connection_gone: 'the connection was changed meanwhile',
  no_email: 'the provider sent no email address',
  unverified_email: 'the provider has not verified the email address',
  other_domain: 'the email address is not in a verified domain of the team',
  account_elsewhere: 'the email address of the account is not in a verified domain of the team',
  other_identity: 'the account is linked to another identity at the provider',
  removed: 'the person was removed from the team',
};

async function withProvider<T>(
  { log }: World,
  connection: ConnectionRow,
  work: () => Promise<T>,
): Promise<T | NotSignedIn> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ProviderFault)) throw error;
    const { issuer, team_id: teamId } = connection;
    log.warn({ err: error, issuer, teamId }, 'a sign-in through a provider failed');
    const why = error.kind === 'down' ? 'provider_down' : 'provider_wrong';
    return { kind: 'refused', why, provider: extractHost(connection) };
  }
}

/**
 * Admits a person, and records it in the audit log if the person was added or linked; a sign-in of a linked person
 * makes no entry.
 */
async function admitAudited(
  { store, browser, requestId }: NobodyCtx<World>,
  connection: ConnectionRow,
  claims: ProviderClaims,
): Promise<Admission> {
  const watched = audited(store, {
    action: 'team_member.linked',
    team_id: connection.team_id,
    subject_id: null,
    actor_kind: 'user',
    actor_id: null,
    actor_name: claims.email ?? null,
    address: browser.address,
    user_agent: browser.userAgent.slice(0, 500),
    request_id: requestId,
    details: JSON.stringify({ issuer: connection.issuer, subject: claims.subject.slice(0, 255) }),
  });
  return admit(watched.store, connection.id, claims);
}

/** Reports whether an error comes from this provider (RFC 9207). */
const isOfIssuer = (answer: URLSearchParams, { issuer }: ConnectionRow): boolean =>
  answer.get('iss') === null || answer.get('iss') === issuer;

function answerUrl(world: World, answer: URLSearchParams): URL {
  const url = new URL(buildRedirectUri(world));
  url.search = answer.toString();
  return url;
}

const extractHost = ({ issuer }: ConnectionRow): string => URL.parse(issuer)?.host ?? issuer;

function isSame(given: string, wanted: Attempt['state']): boolean {
  const a = Buffer.from(hashToken(given));
  const b = Buffer.from(hashToken(wanted));
  return timingSafeEqual(a, b);
}
