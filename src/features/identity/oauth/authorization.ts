import { READING_SCOPES, type Scope } from '../../../contract/index.ts';
import type { Store } from '../../../platform/store/index.ts';
import { findClient, type ClientRow } from './clients.store.ts';
import { oauthRefusal, OauthRefusal } from './oauth-refusal.ts';
import { neededText, readScopes, textOf, type Fields } from './parameters.ts';
import { redirectTo } from './redirect-uri.ts';
import { readResource, type Resource } from './resource.ts';

/** What an app asks of a person. */
export interface AuthorizationRequest {
  redirectUri: string;
  state: string;
  challenge: string;
  scopes: Scope[];
  resource: Resource;
  /** What the app called itself on the page that asked. */
  client: { name: string; logoUri: string | null };
}

export interface Asked {
  kind: 'asked';
  client: ClientRow;
  request: AuthorizationRequest;
}

export type Authorization =
  | Asked
  /** The app is told, by way of the browser. */
  | { kind: 'refused'; to: string }
  /** It is not known where a browser might be sent. */
  | { kind: 'unknown'; say: string };

export const CLIENT_DISABLED = 'The operator of this service has disabled this app.';

const STATE_CHARS_MAX = 512;
const CHALLENGE = /^[A-Za-z0-9_-]{43}$/;

/** Reads what `/oauth/authorize` was asked. No browser is sent to an address that the client has not registered. */
export async function readAuthorization(store: Store, query: Fields): Promise<Authorization> {
  const clientId = query['client_id'];
  const client = typeof clientId === 'string' && isPlain(clientId) ? await findClient(store.db, clientId) : undefined;
  if (!client) return { kind: 'unknown', say: 'The app that sent you here is not known to this service.' };
  if (client.disabled_at !== null) return { kind: 'unknown', say: CLIENT_DISABLED };
  const redirectUri = query['redirect_uri'];
  const known = JSON.parse(client.redirect_uris) as string[];
  if (typeof redirectUri !== 'string' || !known.includes(redirectUri)) {
    const say = 'The app that sent you here wants you to be sent on to an address that it has not registered.';
    return { kind: 'unknown', say };
  }
  try {
    return { kind: 'asked', client, request: readRequest(store, client, redirectUri, query) };
  } catch (error) {
    if (!(error instanceof OauthRefusal)) throw error;
    return { kind: 'refused', to: refusedTo(store, { redirectUri, state: query['state'] }, error) };
  }
}

/** RFC 9207: `iss` tells an app that talks to several services which of them answers. */
export const refusedTo = (
  store: Store,
  { redirectUri, state }: { redirectUri: string; state: unknown },
  { error, message }: { error: string; message: string },
): string =>
  redirectTo(redirectUri, {
    ...{ error, error_description: message },
    state: typeof state === 'string' && state !== '' ? state : undefined,
    iss: store.origin(),
  });

export const allowedTo = (store: Store, { redirectUri, state }: AuthorizationRequest, code: string): string =>
  redirectTo(redirectUri, { code, state, iss: store.origin() });

const isPlain = (text: string): boolean => !text.includes('\0') && text.isWellFormed();

function readRequest(store: Store, client: ClientRow, redirectUri: string, query: Fields): AuthorizationRequest {
  const type = neededText(query, 'response_type');
  if (type !== 'code') throw oauthRefusal('unsupported_response_type', 'response_type must be code.');
  const challenge = neededText(query, 'code_challenge');
  const method = neededText(query, 'code_challenge_method');
  if (method !== 'S256') throw oauthRefusal('invalid_request', 'code_challenge_method must be S256.');
  if (!CHALLENGE.test(challenge)) {
    throw oauthRefusal('invalid_request', 'code_challenge must have 43 characters of BASE64URL.');
  }
  const state = neededText(query, 'state');
  if ([...state].length > STATE_CHARS_MAX) {
    throw oauthRefusal('invalid_request', `state may have at most ${STATE_CHARS_MAX} characters.`);
  }
  const resource = textOf(query, 'resource');
  return {
    ...{ redirectUri, state, challenge, scopes: scopesFor(client, textOf(query, 'scope')) },
    resource: resource === undefined ? 'api' : readResource(store.origin(), resource),
    client: { name: client.name, logoUri: client.logo_uri },
  };
}

/** What the client has registered is the most that it may ask for, and what it asks for where it names nothing. */
function scopesFor(client: ClientRow, text: string | undefined): Scope[] {
  const registered = client.scope === null ? undefined : readScopes(client.scope);
  const asked = text === undefined ? [] : readScopes(text);
  if (asked.length === 0) return registered ?? READING_SCOPES;
  const more = registered && asked.find((scope) => !registered.includes(scope));
  if (more !== undefined) throw oauthRefusal('invalid_scope', `This client is not registered for the scope ${more}.`);
  return asked;
}
