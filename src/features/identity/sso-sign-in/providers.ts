import type { JWKS, ServerMetadata } from 'openid-client';
import type { World } from '../../../platform/world.ts';
import { invalidField } from '../../../platform/refusal.ts';
import { readProviderUrl } from '../sso/sso-connection.ts';
import {
  clearProviderFault,
  connectionsInUse,
  noteProviderFault,
  type ConnectionRow,
  type ProviderStep,
} from '../../../tenancy/sso-rows/index.ts';
import { BoundedMap } from '../../../platform/limits/index.ts';

/** An error of a provider that ends a sign-in. */
export class ProviderFault extends Error {
  /** `down`: no response, or not in time; `wrong`: a response that is invalid or cannot be trusted. */
  readonly kind: 'down' | 'wrong';
  /**
   * True if the data from the browser may be at fault. Anybody can send such data, so it says nothing about the
   * provider.
   */
  isOfAnswer = false;
  constructor(kind: 'down' | 'wrong', says: string, because?: unknown) {
    super(says, because === undefined ? undefined : { cause: because });
    this.kind = kind;
  }
}

/** Maximum size of a response; the keys of large providers take a tenth of it. */
const ANSWER_BYTES_MAX = 256 * 1024;
/** Statuses of responses without a body (RFC 9110 §6.4.1). */
const BODILESS = new Set([204, 205, 304]);

interface ProviderRequest {
  method?: string;
  headers?: Record<string, string>;
  body?: string | undefined;
}

/**
 * Sends a request to a provider, at whatever endpoint its metadata names: only to addresses that the guard allows, with
 * limits of time and size, and without following redirects.
 */
export async function askProvider(world: World, text: string, request: ProviderRequest = {}): Promise<Response> {
  const url = readProviderUrl(text);
  if (typeof url === 'string') throw new ProviderFault('wrong', `the address ${text.slice(0, 200)} ${url}`);
  const stop = new AbortController();
  const cancel = world.clock.timer(world.config.sso.answer_seconds * 1000, () => stop.abort());
  let left = ANSWER_BYTES_MAX;
  const mayTake = (bytes: number): boolean => (left -= bytes) >= 0;
  try {
    const method = request.method === 'POST' ? 'POST' : 'GET';
    const headers = { accept: 'application/json', ...request.headers };
    const send = { method, url, headers, body: request.body } as const;
    const answer = await world.providers.send(send, { signal: stop.signal, mayTake });
    if (answer.kind === 'failed') {
      const { kind } = answer.fault;
      const isWrong = kind === 'too_large' || kind === 'encoded';
      throw new ProviderFault(isWrong ? 'wrong' : 'down', `${url.host}: ${kind}`, answer.because);
    }
    const { status, headers: got, body } = answer;
    if (status < 200 || status > 599) throw new ProviderFault('wrong', `${url.host} answered ${status}`);
    const kept = Object.entries(got).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
    return new Response(BODILESS.has(status) ? null : new Uint8Array(body), { status, headers: kept });
  } finally {
    cancel();
  }
}

/** Limit of a provider's message, which is shown in terminals. */
const SAID_CHARS_MAX = 300;

export const toOneLine = (text: string): string =>
  text.replaceAll(/[\p{C}\p{Zl}\p{Zp}]+/gu, ' ').slice(0, SAID_CHARS_MAX);

/** Refuses an issuer whose discovery document cannot be read or used. Nothing is cached or stored. */
export async function mustBeProvider(world: World, issuer: string): Promise<void> {
  try {
    await discover(world, issuer);
  } catch (error) {
    if (!(error instanceof ProviderFault)) throw error;
    const advice =
      error.kind === 'down'
        ? 'check the URL, and that this server can reach it'
        : 'send the issuer exactly as the provider publishes it';
    throw invalidField(
      'issuer',
      `issuer is not a usable OpenID Connect provider: ${toOneLine(error.message)}; ${advice}.`,
    );
  }
}

/** Stores a provider fault for the findings of the team, and throws it again. */
export async function noted<T>(
  { db, clock }: World,
  { id }: ConnectionRow,
  { step, work }: { step: ProviderStep; work: Promise<T> },
): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof ProviderFault && !error.isOfAnswer) {
      const says = toOneLine(error.message);
      await noteProviderFault(db, id, { kind: error.kind, step, says, at: clock.now() });
    }
    throw error;
  }
}

/** Cached data of a provider, by the clock of this process. */
interface Known {
  metadata: { asked: Promise<ServerMetadata>; at: number; hasFailed: boolean } | undefined;
  keys: { jwks: JWKS; at: number } | undefined;
  /** Set while a request for the keys is in progress. */
  keysAsked: Promise<Response> | undefined;
}

const METADATA_MS = 10 * 60_000;
/**
 * Maximum age of the metadata when a browser is sent to a provider: if the provider is down, the browser has to get a
 * page from us instead, because nothing of the provider answers.
 */
export const START_METADATA_MS = 10_000;
/** A provider that is down is asked again only after this time, so that people who try repeatedly put no load on it. */
const FAILED_MS = 5000;
const KEYS_MS = 10 * 60_000;
/** Minimum time before the keys are requested again because a signature names an unknown key. */
export const KEYS_AGAIN_MS = 60_000;
const PROVIDERS_MAX = 500;

/** Signature algorithms with a key that only the provider has. Excludes `none` and signatures with a shared secret. */
export const ALGORITHMS: readonly string[] = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
];

const knownProviders = new WeakMap<World['providers'], BoundedMap<string, Known>>();

function knownFor({ providers }: World, connection: ConnectionRow): Known {
  const all = knownProviders.get(providers) ?? new BoundedMap<string, Known>(PROVIDERS_MAX);
  knownProviders.set(providers, all);
  const known = all.get(connection.id) ?? { metadata: undefined, keys: undefined, keysAsked: undefined };
  all.set(connection.id, known);
  return known;
}

/**
 * Returns the endpoints and capabilities of the provider, which may have been read `maxAgeMs` ago. Throws a
 * `ProviderFault`.
 */
export function loadMetadata(world: World, connection: ConnectionRow, maxAgeMs = METADATA_MS): Promise<ServerMetadata> {
  const known = knownFor(world, connection);
  const now = world.clock.now();
  const { metadata } = known;
  if (metadata && now - metadata.at < (metadata.hasFailed ? FAILED_MS : maxAgeMs)) return metadata.asked;
  const asked = discoverNoted(world, connection);
  const entry = { asked, at: now, hasFailed: false };
  known.metadata = entry;
  asked.catch(() => (entry.hasFailed = true));
  return asked;
}

/** Requests the metadata again, ignoring the cache. */
function askAgain(world: World, connection: ConnectionRow): Promise<ServerMetadata> {
  knownFor(world, connection).metadata = undefined;
  return loadMetadata(world, connection);
}

/** Requests the metadata and stores the outcome for the findings of the team. */
async function discoverNoted(world: World, connection: ConnectionRow): Promise<ServerMetadata> {
  const metadata = await noted(world, connection, { step: 'discovery', work: discover(world, connection.issuer) });
  if (connection.failing_since !== null) await clearProviderFault(world.db, connection.id, 'discovery');
  return metadata;
}

async function discover(world: World, issuer: string): Promise<ServerMetadata> {
  const response = await askProvider(world, `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`);
  // A server that is being restarted responds with such a status.
  if (response.status >= 500) throw new ProviderFault('down', `${issuer} answered ${response.status}`);
  if (response.status !== 200) throw new ProviderFault('wrong', `${issuer} answered ${response.status} to discovery`);
  const told = await objectIn(response, issuer);
  if (told.issuer !== issuer) {
    throw new ProviderFault('wrong', `the provider reports the issuer ${JSON.stringify(told.issuer)?.slice(0, 200)}`);
  }
  const algorithms = readTextList(told.id_token_signing_alg_values_supported) ?? ['RS256'];
  const usable = algorithms.filter((name) => ALGORITHMS.includes(name));
  if (usable.length === 0) {
    throw new ProviderFault(
      'wrong',
      `the provider signs with ${algorithms.join(', ').slice(0, 200)}, and none of them is supported`,
    );
  }
  const userinfo = told.userinfo_endpoint === undefined ? {} : { userinfo_endpoint: urlIn(told, 'userinfo_endpoint') };
  const methods = readTextList(told.token_endpoint_auth_methods_supported);
  return {
    issuer,
    authorization_endpoint: urlIn(told, 'authorization_endpoint'),
    token_endpoint: urlIn(told, 'token_endpoint'),
    jwks_uri: urlIn(told, 'jwks_uri'),
    ...userinfo,
    id_token_signing_alg_values_supported: usable,
    ...(methods ? { token_endpoint_auth_methods_supported: methods } : {}),
    authorization_response_iss_parameter_supported: told.authorization_response_iss_parameter_supported === true,
  };
}

async function objectIn(response: Response, from: string): Promise<Record<string, unknown>> {
  const value: unknown = await response.json().catch((error: unknown) => {
    throw new ProviderFault('wrong', `${from} returned a response that is not JSON`, error);
  });
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new ProviderFault('wrong', `${from} returned a response that is not a JSON object`);
}

function urlIn(told: Record<string, unknown>, name: string): string {
  const text = told[name];
  const url = typeof text === 'string' ? readProviderUrl(text) : 'is missing';
  if (typeof url === 'string') throw new ProviderFault('wrong', `${name} of the provider ${url}`);
  return text as string;
}

const readTextList = (value: unknown): string[] | undefined =>
  Array.isArray(value) ? value.filter((one) => typeof one === 'string').slice(0, 50) : undefined;

/** Returns the cached keys, for the library to verify with. */
export function findCachedKeys(world: World, connection: ConnectionRow): Known['keys'] {
  const { keys } = knownFor(world, connection);
  return keys && world.clock.now() - keys.at < KEYS_MS ? keys : undefined;
}

/** Requests the keys. Concurrent callers share one response. */
export async function askForKeys(world: World, connection: ConnectionRow, url: string): Promise<Response> {
  const known = knownFor(world, connection);
  known.keysAsked ??= askProvider(world, url).finally(() => (known.keysAsked = undefined));
  const response = (await known.keysAsked).clone();
  const jwks: unknown =
    response.status === 200
      ? await response
          .clone()
          .json()
          .catch(() => undefined)
      : undefined;
  const keys = (jwks as { keys?: unknown } | undefined)?.keys;
  if (Array.isArray(keys)) known.keys = { jwks: jwks as JWKS, at: world.clock.now() };
  return response;
}

/** Number of providers asked concurrently, because one that is down takes as long as the timeout. */
const AT_ONCE = 20;

/** Requests the metadata of every provider, so that a team learns of a failure before its members try to sign in. */
export async function recheckSsoProviders(world: World): Promise<void> {
  for (let after: string | null = null; ;) {
    const rows: ConnectionRow[] = await connectionsInUse(world.db, after, AT_ONCE);
    await Promise.all(rows.map((row) => ask(world, row)));
    after = rows.at(-1)?.id ?? null;
    if (rows.length < AT_ONCE) return;
  }
}

async function ask(world: World, connection: ConnectionRow): Promise<void> {
  try {
    await askAgain(world, connection);
  } catch (error) {
    // The fault is already stored with the connection.
    if (!(error instanceof ProviderFault)) throw error;
  }
}
