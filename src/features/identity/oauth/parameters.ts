import { isScope, type Scope, type OauthErrorCode } from '../../../contract/index.ts';

/** An app gets `unsupported_response_type` only through the browser. */
type RefusalCode = OauthErrorCode | 'unsupported_response_type';

const STATUS: Partial<Record<RefusalCode, number>> = { invalid_client: 401, invalid_token: 401 };

/** An error of an app in a step of OAuth, with the codes of RFC 6749 and RFC 7591. */
export class OauthRefusal extends Error {
  override readonly name = 'OauthRefusal';
  readonly error: RefusalCode;
  readonly status: number;
  readonly retryAfterSeconds: number | undefined;

  constructor(error: RefusalCode, say: string, retryAfterSeconds?: number) {
    super(describable(say));
    this.error = error;
    this.status = retryAfterSeconds === undefined ? (STATUS[error] ?? 400) : 429;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

export const oauthRefusal = (error: RefusalCode, say: string): OauthRefusal => new OauthRefusal(error, say);

/** Removes what RFC 6749 §5.2 forbids in a description: quotation marks, backslashes, and all but ASCII. */
export const describable = (say: string): string => say.replace(/["\\]/g, "'").replace(/[^\x20-\x7e]/g, '?');

const CHARS_MAX = 2048;
const LOOPBACK: ReadonlySet<string> = new Set(['127.0.0.1', '[::1]', 'localhost']);
/**
 * A host as the URL parser returns it. The parser also accepts characters such as ; and *, which would have a meaning
 * in the content security policy of the consent page.
 */
const HOST = /^(?:[a-z0-9._-]*|\[[0-9a-f:.]+\])$/;

/** Returns the reason why an address must not be registered for redirects; undefined if it may be. */
export function redirectFault(text: string, listed: readonly string[]): string | undefined {
  if (text.length > CHARS_MAX) return `may have at most ${CHARS_MAX} characters`;
  if (!/^[\x21-\x7e]+$/.test(text) || text.includes('\\')) return 'must be an absolute address in plain ASCII';
  if (text.includes('#')) return 'must not have a fragment';
  if (listed.includes(text)) return undefined;
  const url = URL.parse(text);
  if (!url) return 'must be an absolute address';
  if (url.username !== '' || url.password !== '') return 'must not have a user name or password';
  if (!HOST.test(url.hostname)) return 'must have a host that consists of letters, digits, dots and hyphens';
  if (url.protocol === 'https:') return /^https:\/\/[^/]/i.test(text) ? undefined : 'must be an absolute address';
  // Matches the host as written: the parser also turns 2130706433 into 127.0.0.1.
  const host = /^http:\/\/(\[[^\]]*\]|[^/:?#]*)(?::\d{1,5})?(?:[/?]|$)/i.exec(text)?.[1]?.toLowerCase();
  if (host !== undefined && LOOPBACK.has(host)) return undefined;
  return 'must be an https address, or an http address on 127.0.0.1, [::1] or localhost; the operator of this service can allow others in oauth.private_scheme_redirects';
}

/** Adds the parameters of a response to an address; its own query stays as it was registered. */
export function redirectTo(uri: string, answer: Record<string, string | undefined>): string {
  const given = Object.entries(answer).filter((pair): pair is [string, string] => pair[1] !== undefined);
  const query = new URLSearchParams(given).toString();
  const joint = !uri.includes('?') ? '?' : /[?&]$/.test(uri) ? '' : '&';
  return `${uri}${joint}${query}`;
}

/** Audience of a token: the whole service, or only /mcp. */
export type Resource = 'api' | 'mcp';

/** Reads a resource (RFC 8707). Clients write the address with and without a slash at its end. */
export function readResource(origin: string, text: string): Resource {
  const named = text.endsWith('/') ? text.slice(0, -1) : text;
  if ([origin, `${origin}/api/v1`].includes(named)) return 'api';
  if ([`${origin}/mcp`, `${origin}/api/v1/mcp`].includes(named)) return 'mcp';
  throw oauthRefusal('invalid_target', `resource must be ${origin} or ${origin}/mcp.`);
}

/** Returns the narrower resource; a grant for everything also permits tokens for a part. */
export function narrowed(granted: Resource, asked: Resource | undefined): Resource {
  if (asked === undefined || asked === granted || granted === 'api') return asked ?? granted;
  throw oauthRefusal('invalid_target', 'resource must match the authorization, which covers only /mcp.');
}

/** Fields of a form, a query or a JSON body; a parameter that is sent twice is a list. */
export type Fields = Readonly<Record<string, unknown>>;

/**
 * Returns a parameter. As RFC 6749 §3.1 requires, one without a value counts as omitted, and none may be sent twice.
 */
export function readParameter(fields: Fields, name: string): string | undefined {
  const value = Object.hasOwn(fields, name) ? fields[name] : undefined;
  if (value === undefined || value === null || value === '') return undefined;
  if (Array.isArray(value)) throw oauthRefusal('invalid_request', `${name} was sent more than once.`);
  if (typeof value !== 'string' || value.includes('\0') || !value.isWellFormed()) {
    throw oauthRefusal('invalid_request', `${name} must be a string.`);
  }
  return value;
}

export function neededText(fields: Fields, name: string): string {
  const value = readParameter(fields, name);
  if (value === undefined) throw oauthRefusal('invalid_request', `${name} is missing.`);
  return value;
}

/** Reads scopes separated by spaces, each once, in their order. */
export function readScopes(text: string): Scope[] {
  const names = [...new Set(text.split(' ').filter((name) => name !== ''))];
  const unknown = names.find((name) => !isScope(name));
  if (unknown !== undefined) {
    const shown = JSON.stringify(unknown.slice(0, 60));
    throw oauthRefusal(
      'invalid_scope',
      `${shown} is not a scope of this service; its metadata lists the supported scopes.`,
    );
  }
  return names.filter(isScope);
}
