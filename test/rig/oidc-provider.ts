import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { generateKeyPairSync } from 'node:crypto';
import type { Browsing } from './sso.ts';

export interface OidcProvider extends AsyncDisposable {
  issuer: string;
  clientId: string;
  secret: string;
  /** The person that it signs in for every request. */
  person: { sub: string; [claim: string]: unknown };
  /** Ends the session of a browser at the provider, which reports it to the client. */
  signOut(browser: Browsing): Promise<void>;
}

export interface OidcProviderOptions {
  redirectUri: string;
  auth?: 'client_secret_basic' | 'client_secret_post';
  /** The address to which it reports logouts. */
  logoutUri?: string;
}

interface Context {
  req: unknown;
  res: unknown;
}

/** The part of the package that is used; it has no types. */
interface Library {
  new (
    issuer: string,
    configuration: object,
  ): {
    on(event: 'backchannel.error', heard: (context: Context, error: Error) => void): void;
    callback(): (request: unknown, response: unknown) => void;
    interactionDetails(
      request: unknown,
      response: unknown,
    ): Promise<{ prompt: { name: string }; params: { client_id: string } }>;
    interactionFinished(request: unknown, response: unknown, result: object): Promise<void>;
    Grant: new (of: { accountId: string; clientId: string }) => {
      addOIDCScope(scope: string): void;
      save(): Promise<string>;
    };
  };
}

/** Starts the provider of the npm package oidc-provider, which signs in without asking. It uses the machine's clock. */
export async function startOidcProvider({ redirectUri, auth, logoutUri }: OidcProviderOptions): Promise<OidcProvider> {
  // @ts-expect-error It has no types.
  const { default: Provider } = (await import('oidc-provider')) as { default: Library };
  const server = createServer();
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  let fault: Error | undefined;
  const made: OidcProvider = {
    issuer,
    clientId: 'rasket',
    secret: 'a-secret: with signs+&=%',
    person: { sub: 'nobody' },
    async signOut(browser) {
      const { text } = await browser.get(`${issuer}/session/end`);
      const xsrf = /name="xsrf" value="([^"]+)"/.exec(text)?.[1];
      if (xsrf === undefined) throw new Error(`the provider shows no sign-out form: ${text.slice(0, 500)}`);
      const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
      const body = new URLSearchParams({ xsrf, logout: 'yes' });
      const answer = await fetch(`${issuer}/session/end/confirm`, {
        method: 'POST',
        redirect: 'manual',
        headers: { cookie },
        body,
      });
      if (fault !== undefined) throw fault;
      if (answer.status !== 303) throw new Error(`the provider answered ${answer.status} to a sign-out`);
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: made.clientId,
        client_secret: made.secret,
        redirect_uris: [redirectUri],
        ...(auth ? { token_endpoint_auth_method: auth } : {}),
        ...(logoutUri ? { backchannel_logout_uri: logoutUri, backchannel_logout_session_required: true } : {}),
      },
    ],
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), kid: 'first', use: 'sig', alg: 'RS256' }] },
    cookies: { keys: ['only of this test'] },
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
    features: { devInteractions: { enabled: false }, backchannelLogout: { enabled: logoutUri !== undefined } },
    // Its own way refuses loopback addresses.
    fetch: (url: string, { dispatcher: _, ...options }: RequestInit & { dispatcher?: unknown }) => fetch(url, options),
    pkce: { required: () => true },
    ttl: { AccessToken: 300, AuthorizationCode: 60, Grant: 300, IdToken: 300, Interaction: 300, Session: 300 },
    interactions: { url: (_context: Context, { uid }: { uid: string }) => `/interaction/${uid}` },
    findAccount: () => ({ accountId: made.person.sub, claims: () => made.person }),
    async loadExistingGrant({ oidc }: { oidc: { client: { clientId: string } } }) {
      const grant = new provider.Grant({ accountId: made.person.sub, clientId: oidc.client.clientId });
      grant.addOIDCScope('openid email profile');
      await grant.save();
      return grant;
    },
  });
  provider.on('backchannel.error', (_context, error) => (fault = error));
  const answer = provider.callback();
  server.on('request', (request, response) => {
    if (!request.url?.startsWith('/interaction/')) return answer(request, response);
    void provider.interactionFinished(request, response, { login: { accountId: made.person.sub } });
  });
  return made;
}
