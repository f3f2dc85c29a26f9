// Unmodified OAuth client libraries: how each asks a person for access, gets tokens and uses them.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as EarlierClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as EarlierTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import * as oauth from 'oauth4webapi';
import { ABOUT, asSeen, type McpClient } from './mcp.ts';

/** Opens the page that the app requests as the person who gives access, and returns where the browser is redirected in the end. */
export interface Place {
  origin: string;
  redirectUri: string;
  browse: (asked: URL) => Promise<URL>;
}

interface Kept<Info, Tokens> {
  info?: Info;
  tokens?: Tokens;
  verifier: string;
  state: string;
  /** The service that it was sent to, so that no other gets its tokens. */
  discovery?: unknown;
  /** The pages that a browser was sent to. */
  asked: URL[];
}

/** Returns what a user of this library writes: it stores what it is given, and opens a browser. */
function createProvider<Info, Tokens>({ redirectUri }: Place, kept: Kept<Info, Tokens>) {
  return {
    redirectUrl: redirectUri,
    clientMetadata: { client_name: 'An editor', redirect_uris: [redirectUri], token_endpoint_auth_method: 'none' },
    state: () => kept.state,
    clientInformation: () => kept.info,
    saveClientInformation: (info: Info) => void (kept.info = info),
    tokens: () => kept.tokens,
    saveTokens: (tokens: Tokens) => void (kept.tokens = tokens),
    redirectToAuthorization: (url: URL) => void kept.asked.push(url),
    saveCodeVerifier: (verifier: string) => void (kept.verifier = verifier),
    codeVerifier: () => kept.verifier,
    saveDiscoveryState: (discovery: unknown) => void (kept.discovery = discovery),
    discoveryState: () => kept.discovery,
    invalidateCredentials(what: string) {
      if (what === 'all' || what === 'tokens') delete kept.tokens;
      if (what === 'all' || what === 'client') delete kept.info;
      if (what === 'all' || what === 'discovery') delete kept.discovery;
    },
  };
}

/** Returns the parameters with which the browser came back. */
async function letIn({ browse }: Place, { asked, state }: Kept<unknown, unknown>): Promise<URLSearchParams> {
  const last = asked.at(-1);
  if (!last) throw new Error('the app has not opened a browser');
  const { searchParams } = await browse(last);
  if (searchParams.get('state') !== state) throw new Error(`the browser came back with another state: ${searchParams}`);
  return searchParams;
}

export interface SignedInClient extends McpClient {
  kept: Kept<unknown, { access_token: string; refresh_token?: string | undefined }>;
}

type Provider = NonNullable<
  NonNullable<ConstructorParameters<typeof StreamableHTTPClientTransport>[1]>['authProvider']
>;
type EarlierProvider = NonNullable<NonNullable<ConstructorParameters<typeof EarlierTransport>[1]>['authProvider']>;

/** The libraries start with the address of /mcp alone, and are refused first: that answer leads them to the metadata. */
export const SIGNING_IN = {
  async '2026-07-28'(place: Place): Promise<SignedInClient> {
    const kept: SignedInClient['kept'] = { verifier: '', state: 'state-of-today', asked: [] };
    const connect = async () => {
      const authProvider = createProvider(place, kept) as Provider;
      const transport = new StreamableHTTPClientTransport(new URL(`${place.origin}/mcp`), { authProvider });
      const client = new Client(ABOUT, { versionNegotiation: { mode: 'auto' } });
      return { client, transport, connected: client.connect(transport) };
    };
    const first = await connect();
    await mustBeUnauthorized(first.connected);
    await first.transport.finishAuth(await letIn(place, kept));
    const { client, connected } = await connect();
    await connected;
    return { ...asSeen(client, client.getNegotiatedProtocolVersion()), kept };
  },

  async '2025-11-25'(place: Place): Promise<SignedInClient> {
    const kept: SignedInClient['kept'] = { verifier: '', state: 'state-of-2025', asked: [] };
    const connect = async () => {
      const authProvider = createProvider(place, kept) as EarlierProvider;
      const transport = new EarlierTransport(new URL(`${place.origin}/mcp`), { authProvider });
      const client = new EarlierClient(ABOUT);
      // The library's own types do not support exactOptionalPropertyTypes.
      return { client, transport, connected: client.connect(transport as Parameters<typeof client.connect>[0]) };
    };
    const first = await connect();
    await mustBeUnauthorized(first.connected);
    await first.transport.finishAuth((await letIn(place, kept)).get('code') ?? '');
    const { client, transport, connected } = await connect();
    await connected;
    return { ...asSeen(client, transport.protocolVersion), kept };
  },
};

async function mustBeUnauthorized(connected: Promise<void>): Promise<void> {
  const fault = await connected.then(
    () => undefined,
    (error: unknown) => error as Error,
  );
  if (fault?.constructor.name !== 'UnauthorizedError') {
    throw new Error('an app without a token was accepted, or did not get the metadata', { cause: fault });
  }
}

/** A scene speaks plain HTTP; nothing else of this client is set. */
const PLAIN = { [oauth.allowInsecureRequests]: true };

/** Acts like an app that requests the whole API (no path) or /mcp. */
export async function oauth4webapiAt(place: Place, { path, scope }: { path: string; scope: string }) {
  const resource = new URL(`${place.origin}${path}`);
  const found = await oauth.resourceDiscoveryRequest(resource, PLAIN);
  const described = await oauth.processResourceDiscoveryResponse(resource, found);
  const issuer = new URL(described.authorization_servers?.[0] ?? '');
  const discovered = await oauth.discoveryRequest(issuer, { ...PLAIN, algorithm: 'oauth2' });
  const server = await oauth.processDiscoveryResponse(issuer, discovered);

  const redirectUri = place.redirectUri;
  const metadata = { client_name: 'oauth4webapi', redirect_uris: [redirectUri], token_endpoint_auth_method: 'none' };
  const registration = await oauth.dynamicClientRegistrationRequest(server, metadata, PLAIN);
  const app = (await oauth.processDynamicClientRegistrationResponse(registration)) as oauth.Client;

  const verifier = oauth.generateRandomCodeVerifier();
  const state = oauth.generateRandomState();
  const asked = new URL(server.authorization_endpoint ?? '');
  asked.search = new URLSearchParams({
    client_id: app.client_id,
    redirect_uri: redirectUri,
    response_type: 'code',
    scope,
    state,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    resource: resource.href,
  }).toString();
  const callback = oauth.validateAuthResponse(server, app, await place.browse(asked), state);

  const more = { ...PLAIN, additionalParameters: { resource: resource.href } };
  const exchange = await oauth.authorizationCodeGrantRequest(
    server,
    app,
    oauth.None(),
    callback,
    redirectUri,
    verifier,
    more,
  );
  return {
    tokens: await oauth.processAuthorizationCodeResponse(server, app, exchange),
    async refresh(token: string) {
      const answer = await oauth.refreshTokenGrantRequest(server, app, oauth.None(), token, more);
      return oauth.processRefreshTokenResponse(server, app, answer);
    },
    async revoke(token: string): Promise<void> {
      await oauth.processRevocationResponse(await oauth.revocationRequest(server, app, oauth.None(), token, PLAIN));
    },
    /** Rejects with a WWWAuthenticateChallengeError if the token does not reach. */
    get: (target: string, token: string): Promise<Response> =>
      oauth.protectedResourceRequest(token, 'GET', new URL(target, place.origin), new Headers(), null, PLAIN),
  };
}
