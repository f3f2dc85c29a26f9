import { SCOPE_NAMES, UNSEEN, type OauthErrorCode } from '../../../contract/index.ts';
import { readHttpsUrl } from '../../../protocol/https-url.ts';
import { OauthRefusal, oauthRefusal, readScopes, redirectFault, type Fields } from './parameters.ts';
import type { Store } from '../../../platform/store.ts';

export const GRANT_TYPES = ['authorization_code', 'refresh_token'] as const;
export type GrantType = (typeof GRANT_TYPES)[number];

export interface ClientMetadata {
  name: string;
  redirect_uris: string[];
  grant_types: GrantType[];
  scope: string | null;
  client_uri: string | null;
  logo_uri: string | null;
  software_id: string | null;
  software_version: string | null;
}

const REDIRECTS_MAX = 10;
const NAME_CHARS_MAX = 200;
const SOFTWARE_CHARS_MAX = 255;

/** Reads a registration. Unknown fields are ignored (RFC 7591 §2), and the response contains what was registered. */
export function readMetadata(fields: Fields, privateRedirects: readonly string[]): ClientMetadata {
  return {
    redirect_uris: readRedirects(fields['redirect_uris'], privateRedirects),
    name: readName(fields['client_name']),
    grant_types: readGrantTypes(fields),
    scope: readScope(fields),
    client_uri: readUri(fields, 'client_uri'),
    logo_uri: readUri(fields, 'logo_uri'),
    software_id: readLine(fields, 'software_id', SOFTWARE_CHARS_MAX),
    software_version: readLine(fields, 'software_version', SOFTWARE_CHARS_MAX),
  };
}

const bad = (say: string, error: OauthErrorCode = 'invalid_client_metadata'): OauthRefusal => oauthRefusal(error, say);

function readRedirects(value: unknown, listed: readonly string[]): string[] {
  if (!Array.isArray(value) || value.length === 0 || value.length > REDIRECTS_MAX) {
    throw bad(`redirect_uris must be an array of 1 to ${REDIRECTS_MAX} addresses.`, 'invalid_redirect_uri');
  }
  return (value as unknown[]).map((one, at) => {
    const fault = typeof one === 'string' ? redirectFault(one, listed) : 'must be a text';
    if (fault === undefined) return one as string;
    const shown = JSON.stringify(one)?.slice(0, 120) ?? 'nothing';
    throw bad(`redirect_uris.${at} ${fault}; got ${shown}.`, 'invalid_redirect_uri');
  });
}

function readName(value: unknown): string {
  const name = typeof value === 'string' ? value.trim() : '';
  const chars = [...name].length;
  if (chars === 0 || chars > NAME_CHARS_MAX) throw bad(`client_name must have 1 to ${NAME_CHARS_MAX} characters.`);
  // Anybody can register a name and other people see it, so hidden characters are refused and not just removed for display.
  if (name.search(UNSEEN) >= 0) throw bad('client_name must be one line without control or invisible characters.');
  return name;
}

/** Registers only the supported grant types; others that a client lists are ignored. */
function readGrantTypes({ grant_types: value, response_types: responses, token_endpoint_auth_method: method }: Fields) {
  if (method !== undefined && method !== null && method !== 'none') {
    throw bad('token_endpoint_auth_method must be none; clients of this service have no secret.');
  }
  if (responses !== undefined && responses !== null && JSON.stringify(responses) !== '["code"]') {
    throw bad('response_types must be ["code"].');
  }
  if (value === undefined || value === null) return [...GRANT_TYPES];
  const known = Array.isArray(value) ? GRANT_TYPES.filter((type) => value.includes(type)) : [];
  if (!known.includes('authorization_code'))
    throw bad('grant_types must be an array that contains authorization_code.');
  return known;
}

function readScope(fields: Fields): string | null {
  const text = readLine(fields, 'scope', 4000);
  if (text === null) return null;
  try {
    return readScopes(text).join(' ') || null;
  } catch (error) {
    throw error instanceof OauthRefusal ? bad(`scope: ${error.message}`) : error;
  }
}

function readUri(fields: Fields, name: string): string | null {
  const text = readLine(fields, name, 2048);
  if (text === null) return null;
  const read = readHttpsUrl(text);
  if (typeof read === 'string') throw bad(`${name} must be an https URL without a user name or password in it.`);
  return text;
}

function readLine(fields: Fields, name: string, charsMax: number): string | null {
  const value = fields[name];
  if (value === undefined || value === null || value === '') return null;
  if (typeof value !== 'string' || [...value].length > charsMax || value.search(UNSEEN) >= 0) {
    throw bad(`${name} must be one line of at most ${charsMax} characters.`);
  }
  return value;
}

/** Returns the metadata of RFC 8414. The issuer must match the address it is fetched from letter by letter. */
export function authorizationServer({ origin }: Store) {
  const base = origin();
  return {
    issuer: base,
    authorization_endpoint: `${base}/oauth/authorize`,
    token_endpoint: `${base}/oauth/token`,
    registration_endpoint: `${base}/oauth/register`,
    revocation_endpoint: `${base}/oauth/revoke`,
    scopes_supported: [...SCOPE_NAMES],
    response_types_supported: ['code' as const],
    response_modes_supported: ['query' as const],
    grant_types_supported: [...GRANT_TYPES],
    token_endpoint_auth_methods_supported: ['none' as const],
    revocation_endpoint_auth_methods_supported: ['none' as const],
    code_challenge_methods_supported: ['S256' as const],
    authorization_response_iss_parameter_supported: true as const,
    service_documentation: `${base}/docs`,
  };
}

/** Returns the metadata of RFC 9728, for the whole service or for `/mcp`. */
export function protectedResource({ origin }: Store, path: '' | '/mcp') {
  const base = origin();
  return {
    resource: `${base}${path}`,
    authorization_servers: [base],
    scopes_supported: [...SCOPE_NAMES],
    bearer_methods_supported: ['header' as const],
    resource_documentation: `${base}/docs`,
  };
}
