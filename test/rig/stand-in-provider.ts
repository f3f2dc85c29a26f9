import { createHmac, generateKeyPairSync, randomUUID, sign, type KeyObject } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** How a token is signed: correctly, or as an attacker would. */
export type Signing =
  | 'right'
  | 'none'
  | 'HS256 by the secret'
  | 'HS256 by the public key'
  | 'by a foreign key'
  | 'RS256 said of it';

/** Deviations of the provider from a correct one. */
export interface Wrongs {
  claims?: Record<string, unknown>;
  /** Claims that are missing from the token. */
  without?: readonly string[];
  signing?: Signing;
  /** Parameters of the answer in the browser, which replace the correct ones; null removes one. */
  answer?: Record<string, string | null>;
  discovery?: Record<string, unknown>;
  /** Replaces the answer to this path. */
  serve?: { path: string; answer: (response: ServerResponse) => void };
}

export interface StandInProvider extends AsyncDisposable {
  issuer: string;
  clientId: string;
  secret: string;
  /** The authentication method that its client is registered with. */
  auth: 'client_secret_basic' | 'client_secret_post';
  /** The person that it vouches for. */
  person: Record<string, unknown>;
  wrong: Wrongs;
  /** Requested paths, in order. */
  asked: string[];
  /** Signs with a new key from now on, and publishes only that one. */
  rotate(): void;
  /** Returns a logout token with these claims in addition to the usual ones; undefined removes a claim. */
  logoutToken(claims: Record<string, unknown>, more?: { signing?: Signing; typ?: string }): string;
  close(): Promise<void>;
}

interface Key {
  id: string;
  privateKey: KeyObject;
  publicKey: KeyObject;
}

const newKey = (): Key => ({ id: randomUUID(), ...generateKeyPairSync('ec', { namedCurve: 'P-256' }) });
const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

const json = (response: ServerResponse, value: unknown, status = 200): void => {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
};

interface State {
  provider: StandInProvider;
  codes: Map<string, Record<string, string>>;
  now: () => number;
  key: Key;
  foreign: Key;
}

/** Starts an OpenID Connect provider that lies as it is told to; it uses the scene's clock. */
export async function startStandInProvider(now: () => number): Promise<StandInProvider> {
  const codes: State['codes'] = new Map();
  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
  };
  const provider: StandInProvider = {
    issuer,
    clientId: 'rasket',
    secret: 'a secret: of the stand-in',
    auth: 'client_secret_basic',
    person: {},
    wrong: {},
    asked: [],
    rotate: () => void (state.key = newKey()),
    logoutToken: (claims, { signing = 'right', typ = 'logout+jwt' } = {}) => {
      const seconds = Math.floor(now() / 1000);
      const usual = {
        iss: issuer,
        aud: provider.clientId,
        iat: seconds,
        exp: seconds + 120,
        jti: randomUUID(),
        events: { 'http://schemas.openid.net/event/backchannel-logout': {} },
      };
      return signed(state, { ...usual, ...claims }, { by: signing, typ });
    },
    close,
    [Symbol.asyncDispose]: close,
  };

  const state: State = { provider, codes, now, key: newKey(), foreign: newKey() };

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', issuer);
    provider.asked.push(url.pathname);
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { serve } = provider.wrong;
    if (serve?.path === url.pathname) return serve.answer(response);
    if (url.pathname === '/.well-known/openid-configuration') return json(response, discovery());
    if (url.pathname === '/jwks') {
      const jwk = { ...state.key.publicKey.export({ format: 'jwk' }), kid: state.key.id, use: 'sig', alg: 'ES256' };
      return json(response, { keys: [jwk] });
    }
    if (url.pathname === '/authorize') return authorize(url, response);
    if (url.pathname === '/token')
      return redeem(state, request, new URLSearchParams(Buffer.concat(chunks).toString()), response);
    return json(response, { error: 'not_found' }, 404);
  }

  const discovery = (): object => ({
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    jwks_uri: `${issuer}/jwks`,
    response_types_supported: ['code'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['ES256'],
    authorization_response_iss_parameter_supported: true,
    ...provider.wrong.discovery,
  });

  function authorize({ searchParams: asked }: URL, response: ServerResponse): void {
    const code = randomUUID();
    codes.set(code, Object.fromEntries(asked));
    const to = new URL(asked.get('redirect_uri') ?? '');
    const given = { code, state: asked.get('state'), iss: issuer, ...provider.wrong.answer };
    for (const [name, value] of Object.entries(given)) if (value !== null) to.searchParams.set(name, value);
    response.writeHead(303, { location: to.href }).end();
  }

  return provider;
}

function redeem(state: State, { headers }: IncomingMessage, form: URLSearchParams, response: ServerResponse): void {
  const { provider, codes, now } = state;
  if (!isClient(provider, headers.authorization, form)) return json(response, { error: 'invalid_client' }, 401);
  const asked = codes.get(form.get('code') ?? '');
  codes.delete(form.get('code') ?? '');
  if (!asked) return json(response, { error: 'invalid_grant' }, 400);
  const seconds = Math.floor(now() / 1000);
  const claims: Record<string, unknown> = {
    iss: provider.issuer,
    aud: provider.clientId,
    iat: seconds,
    exp: seconds + 300,
    nonce: asked.nonce,
    ...provider.person,
    ...provider.wrong.claims,
  };
  for (const name of provider.wrong.without ?? []) delete claims[name];
  const tokens = { access_token: randomUUID(), token_type: 'Bearer', expires_in: 300, id_token: signed(state, claims) };
  json(response, tokens);
}

/** RFC 6749 §2.3.1: both are form-encoded in the header. */
function isClient(provider: StandInProvider, header: string | undefined, form: URLSearchParams): boolean {
  const { clientId, secret, auth } = provider;
  if (auth === 'client_secret_post') return form.get('client_id') === clientId && form.get('client_secret') === secret;
  const [id, given] = Buffer.from(header?.slice('Basic '.length) ?? '', 'base64')
    .toString()
    .split(':');
  const decoded = (text = ''): string => decodeURIComponent(text.replaceAll('+', ' '));
  return decoded(id) === clientId && decoded(given) === secret;
}

function signed(
  { provider, key, foreign }: State,
  claims: object,
  { by = provider.wrong.signing ?? 'right', typ = 'JWT' }: { by?: Signing; typ?: string } = {},
): string {
  const alg = by === 'none' ? 'none' : by.startsWith('HS256') ? 'HS256' : by.startsWith('RS256') ? 'RS256' : 'ES256';
  const text = `${part({ alg, kid: key.id, typ })}.${part(claims)}`;
  const hmac = (secret: string | Buffer) => createHmac('sha256', secret).update(text).digest('base64url');
  if (by === 'none') return `${text}.`;
  if (by === 'HS256 by the secret') return `${text}.${hmac(provider.secret)}`;
  if (by === 'HS256 by the public key') {
    return `${text}.${hmac(key.publicKey.export({ type: 'spki', format: 'pem' }))}`;
  }
  const { privateKey } = by === 'by a foreign key' ? foreign : key;
  return `${text}.${sign('sha256', Buffer.from(text), { key: privateKey, dsaEncoding: 'ieee-p1363' }).toString('base64url')}`;
}
