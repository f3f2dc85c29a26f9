import type { JWKS, ServerMetadata } from 'openid-client';
import type { World } from '../../../platform/world.ts';
import { readProviderUrl } from '../sso/sso-connection.ts';
import {
  clearProviderFault,
  connectionsInUse,
  noteProviderFault,
  type ConnectionRow,
  type ProviderStep,
} from '../../../tenancy/sso-rows/index.ts';
import { BoundedMap } from '../../../platform/limits/index.ts';

/** What a provider did that ends a sign-in. */
export class ProviderFault extends Error {
  /** `down`: it did not answer, or not in time; `wrong`: it answered what cannot be believed, or not be understood. */
  readonly kind: 'down' | 'wrong';
  /** What a browser brought may be at fault, which anybody can send: it tells nothing of the provider. */
  isOfAnswer = false;
  constructor(kind: 'down' | 'wrong', says: string, because?: unknown) {
    super(says, because === undefined ? undefined : { cause: because });
    this.kind = kind;
  }
}

/** Of one answer; the keys of large providers are a tenth of it. */
const ANSWER_BYTES_MAX = 256 * 1024;
/** Statuses whose answer has no body (RFC 9110 §6.4.1). */
const BODILESS = new Set([204, 205, 304]);

interface ProviderRequest {
  method?: string;
  headers?: Record<string, string>;
  body?: string | undefined;
}

/**
 * One request to a provider, wherever its documents say that its endpoints are: to addresses that the guard lets through, with
 * bounds on time and size, without following redirects.
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

/** Of what a provider said, which is shown in terminals. */
const SAID_CHARS_MAX = 300;

/** Writes down what of the provider fails, for the findings of the team, and throws it on. */
export async function noted<T>(
  { db, clock }: World,
  { id }: ConnectionRow,
  { step, work }: { step: ProviderStep; work: Promise<T> },
): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof ProviderFault && !error.isOfAnswer) {
      const says = error.message.replaceAll(/[\p{C}\p{Zl}\p{Zp}]+/gu, ' ').slice(0, SAID_CHARS_MAX);
      await noteProviderFault(db, id, { kind: error.kind, step, says, at: clock.now() });
    }
    throw error;
  }
}

/** What is kept of a provider between sign-ins, by the clock of this process. */
interface Known {
  metadata: { asked: Promise<ServerMetadata>; at: number; hasFailed: boolean } | undefined;
  keys: { jwks: JWKS; at: number } | undefined;
  /** While they are being asked for. */
  keysAsked: Promise<Response> | undefined;
}

const METADATA_MS = 10 * 60_000;
/** A provider that is down is asked again after this: people who try again and again are no load for it. */
const FAILED_MS = 5000;
const KEYS_MS = 10 * 60_000;
/** How soon the keys may be asked for once more because a signature names one that is not among them. */
export const KEYS_AGAIN_MS = 60_000;
const PROVIDERS_MAX = 500;

/** Signatures by a key that only the provider has. `none`, and those by a secret that others know too, are not among them. */
const ALGORITHMS: readonly string[] = [
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

const knownOf = new WeakMap<World['providers'], BoundedMap<string, Known>>();

function knownFor({ providers }: World, connection: ConnectionRow): Known {
  const all = knownOf.get(providers) ?? new BoundedMap<string, Known>(PROVIDERS_MAX);
  knownOf.set(providers, all);
  const known = all.get(connection.id) ?? { metadata: undefined, keys: undefined, keysAsked: undefined };
  all.set(connection.id, known);
  return known;
}

/** Where the endpoints of the provider are, and what it can do. Throws a `ProviderFault`. */
export function metadataOf(world: World, connection: ConnectionRow): Promise<ServerMetadata> {
  const known = knownFor(world, connection);
  const now = world.clock.now();
  const { metadata } = known;
  if (metadata && now - metadata.at < (metadata.hasFailed ? FAILED_MS : METADATA_MS)) return metadata.asked;
  const asked = discoverNoted(world, connection);
  const entry = { asked, at: now, hasFailed: false };
  known.metadata = entry;
  asked.catch(() => (entry.hasFailed = true));
  return asked;
}

/** Asks anew, whatever is kept. */
function askAgain(world: World, connection: ConnectionRow): Promise<ServerMetadata> {
  knownFor(world, connection).metadata = undefined;
  return metadataOf(world, connection);
}

/** What came of it is for the findings of the team. */
async function discoverNoted(world: World, connection: ConnectionRow): Promise<ServerMetadata> {
  const metadata = await noted(world, connection, { step: 'discovery', work: discover(world, connection.issuer) });
  if (connection.failing_since !== null) await clearProviderFault(world.db, connection.id, 'discovery');
  return metadata;
}

async function discover(world: World, issuer: string): Promise<ServerMetadata> {
  const response = await askProvider(world, `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`);
  // A server that is being restarted says so with a status of its own.
  if (response.status >= 500) throw new ProviderFault('down', `${issuer} answered ${response.status}`);
  if (response.status !== 200) throw new ProviderFault('wrong', `${issuer} answered ${response.status} to discovery`);
  const told = await objectIn(response, issuer);
  if (told.issuer !== issuer) {
    throw new ProviderFault('wrong', `the provider calls itself ${JSON.stringify(told.issuer)?.slice(0, 200)}`);
  }
  const algorithms = listOf(told.id_token_signing_alg_values_supported) ?? ['RS256'];
  const usable = algorithms.filter((name) => ALGORITHMS.includes(name));
  if (usable.length === 0) {
    throw new ProviderFault(
      'wrong',
      `the provider signs with ${algorithms.join(', ').slice(0, 200)}, and none is taken`,
    );
  }
  const userinfo = told.userinfo_endpoint === undefined ? {} : { userinfo_endpoint: urlIn(told, 'userinfo_endpoint') };
  const methods = listOf(told.token_endpoint_auth_methods_supported);
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
    throw new ProviderFault('wrong', `${from} answered what is no JSON`, error);
  });
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new ProviderFault('wrong', `${from} answered no JSON object`);
}

function urlIn(told: Record<string, unknown>, name: string): string {
  const text = told[name];
  const url = typeof text === 'string' ? readProviderUrl(text) : 'is missing';
  if (typeof url === 'string') throw new ProviderFault('wrong', `${name} of the provider ${url}`);
  return text as string;
}

const listOf = (value: unknown): string[] | undefined =>
  Array.isArray(value) ? value.filter((one) => typeof one === 'string').slice(0, 50) : undefined;

/** The keys that are kept, for the library to verify with. */
export function keysOf(world: World, connection: ConnectionRow): Known['keys'] {
  const { keys } = knownFor(world, connection);
  return keys && world.clock.now() - keys.at < KEYS_MS ? keys : undefined;
}

/** Asks for the keys. Requests at the same moment share one answer. */
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

/** Asked at once: those that are down take as long as an answer may. */
const AT_ONCE = 20;

/** Asks every provider what it says of itself, so that a team hears that it fails before its people stand in front of it. */
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
    // It is noted with the connection.
    if (!(error instanceof ProviderFault)) throw error;
  }
}
