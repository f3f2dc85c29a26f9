import type { Configuration, ServerMetadata } from 'openid-client';
import { systemClock } from '../../../platform/clock/index.ts';
import type { World } from '../../../platform/world/index.ts';
import type { ProviderClaims } from '../sso/index.ts';
import { clearProviderFault, SEALED_SSO_SECRETS, type ConnectionRow } from '../../../tenancy/sso-rows/index.ts';
import { askProvider } from './ask-provider.ts';
import type { Attempt } from './attempt.ts';
import { noted } from './note-fault.ts';
import { ProviderFault } from './provider-fault.ts';
import { askForKeys, keysOf, KEYS_AGAIN_MS, metadataOf } from './providers.ts';

/** Clocks of two machines may differ by so much. */
const TOLERANCE_SECONDS = 60;
/** A token that was issued longer ago is no answer to this sign-in. */
const ISSUED_SECONDS_MAX = 600;

type Library = typeof import('openid-client');
type Tokens = Awaited<ReturnType<Library['authorizationCodeGrant']>>;

const AUTHS = ['client_secret_basic', 'client_secret_post'] as const;
type Auth = (typeof AUTHS)[number];

/** Loaded by the first sign-in: many an installation has none. */
const library = (): Promise<Library> => import('openid-client');

/** Where to send a person to. */
export async function authorizationUrl(
  world: World,
  connection: ConnectionRow,
  { attempt, redirectUri, email }: { attempt: Attempt; redirectUri: string; email: string },
): Promise<string> {
  const oidc = await library();
  const metadata = await metadataOf(world, connection);
  const config = configurationFor(oidc, world, { connection, metadata });
  const url = oidc.buildAuthorizationUrl(config, {
    redirect_uri: redirectUri,
    scope: 'openid email profile',
    response_type: 'code',
    // A cookie with SameSite=Lax does not come along with a form of the provider's page.
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
 * Exchanges the code of an answer for what the provider says of the person. The answer must be this provider's, and the token
 * signed by one of its keys, for our client, for this sign-in and of this moment. Throws a `ProviderFault`.
 */
export async function redeem(
  world: World,
  connection: ConnectionRow,
  { attempt, answer }: { attempt: Attempt; answer: URL },
): Promise<ProviderClaims> {
  const oidc = await library();
  const metadata = await metadataOf(world, connection);
  const work = redeemAt(oidc, world, { connection, metadata, attempt, answer });
  const claims = await noted(world, connection, { step: 'exchange', work });
  if (connection.failing_since !== null) await clearProviderFault(world.db, connection.id);
  return claims;
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
): Promise<ProviderClaims> {
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
  if (!claims) throw new ProviderFault('wrong', 'the provider answered no ID token');
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
    email: textOf(told.email),
    // Some providers write it as a text.
    isVerified: told.email_verified === true || (told.email_verified as unknown) === 'true',
    name: textOf(told.name) ?? textOf(claims.name),
  };
}

/** The library's own clock is the machine's: it is told how old the keys are, as far as that decides whether it asks again. */
function giveKeys(
  oidc: Library,
  world: World,
  { connection, config }: { connection: ConnectionRow; config: Configuration },
) {
  const keys = keysOf(world, connection);
  if (!keys) return;
  const mayAskAgain = world.clock.now() - keys.at >= KEYS_AGAIN_MS;
  const uat = Math.floor(systemClock.now() / 1000) - (mayAskAgain ? KEYS_AGAIN_MS / 1000 : 0);
  oidc.setJwksCache(config, { jwks: keys.jwks, uat });
}

/**
 * A client says who it is in a header or in the form, as it is registered, which the provider tells nobody: after the one is
 * refused, the other is tried. The code is not used up by that.
 */
async function inEachWay(
  oidc: Library,
  { token_endpoint_auth_methods_supported: listed }: ServerMetadata,
  exchange: (auth: Auth) => Promise<Tokens>,
): Promise<Tokens> {
  const ways = AUTHS.filter((one) => (listed ?? [AUTHS[0]]).includes(one));
  const [first, second] = ways;
  if (!first) {
    throw new ProviderFault('wrong', 'the provider takes a client’s secret neither in a header nor in a form');
  }
  return exchange(first).catch((error: unknown) => {
    const isUnknown =
      error instanceof oidc.WWWAuthenticateChallengeError ||
      (error instanceof oidc.ResponseBodyError && error.error === 'invalid_client');
    if (second && isUnknown) return exchange(second);
    throw error;
  });
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined);

function mustBeOfNow(issuedAt: number, now: number): void {
  const age = now / 1000 - issuedAt;
  if (age > -TOLERANCE_SECONDS && age < ISSUED_SECONDS_MAX + TOLERANCE_SECONDS) return;
  throw new ProviderFault('wrong', `the token was issued ${Math.round(age)} seconds ago`);
}

interface Client {
  connection: ConnectionRow;
  metadata: ServerMetadata;
  auth?: Auth;
  /** Before each request. */
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
  // An issuer is http on this machine alone; what is asked is checked again, each address by itself.
  if (metadata.issuer.startsWith('http:')) oidc.allowInsecureRequests(config);
  config[oidc.customFetch] = (url, { method, headers, body }) => {
    onAsk?.();
    const text = body instanceof URLSearchParams ? body.toString() : typeof body === 'string' ? body : undefined;
    if (url === metadata.jwks_uri) return askForKeys(world, connection, url);
    return askProvider(world, url, { method, headers, body: text });
  };
  return config;
}

/** What the library finds wrong is the provider's fault. What was thrown by the request itself is known already. */
async function believed<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    const fault = causeOf(error);
    if (fault) throw fault;
    throw new ProviderFault('wrong', saidBy(error), error);
  }
}

function saidBy(error: unknown): string {
  if (!(error instanceof Error)) return 'an answer that cannot be read';
  const { error: code, error_description: more } = error as { error?: unknown; error_description?: unknown };
  const claim = claimOf(error);
  if (claim !== undefined) return `${error.message} (${claim})`;
  if (typeof code !== 'string') return error.message;
  return `it said ${code}${typeof more === 'string' ? `: ${more}` : ''}`;
}

/** Which claim of a token is not as it should be, which the library's message leaves out. */
function claimOf(error: Error): string | undefined {
  for (let one: unknown = error, depth = 0; typeof one === 'object' && one !== null && depth < 4; depth++) {
    const { claim, cause } = one as { claim?: unknown; cause?: unknown };
    if (typeof claim === 'string') return claim;
    one = cause;
  }
  return undefined;
}

/** Codes by which a provider refuses us (RFC 6749 §5.2), not what a browser brought: anybody can bring a code that is none. */
const REFUSES_US = new Set(['invalid_client', 'unauthorized_client', 'unsupported_grant_type', 'server_error']);

const isOfCode = (oidc: Library, cause: unknown): boolean =>
  cause instanceof oidc.ResponseBodyError && !REFUSES_US.has(cause.error);

function causeOf(error: unknown): ProviderFault | undefined {
  for (let one = error, depth = 0; one instanceof Error && depth < 5; one = one.cause, depth++)
    if (one instanceof ProviderFault) return one;
  return undefined;
}
