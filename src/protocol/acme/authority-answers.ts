import { X509Certificate, type KeyObject } from 'node:crypto';
import { readMarks } from '../x509.ts';
import { base64url } from './jws.ts';
import { readHttpsUrl } from '../https-url.ts';

/**
 * An error reported by or about a certificate authority. The message is a single line that is safe to show to an
 * operator.
 */
export class AcmeFault extends Error {
  override name = 'AcmeFault';
  /** The last part of the problem document's type, such as `rateLimited`; empty if there was no problem document. */
  readonly problem: string;
  /** The wait that the authority demands in milliseconds; undefined if it demands none. */
  readonly waitMs: number | undefined;

  constructor(message: string, { problem = '', waitMs }: { problem?: string; waitMs?: number | undefined } = {}) {
    super(inOneLine(message, TEXT_CHARS_MAX));
    this.problem = problem;
    this.waitMs = waitMs;
  }
}

const TEXT_CHARS_MAX = 500;

/** Makes foreign text safe for a log line or a terminal, and cuts it to `charsMax`. */
function inOneLine(text: string, charsMax: number): string {
  const clean = text
    .replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();
  return clean.length > charsMax ? `${clean.slice(0, charsMax - 1)}…` : clean;
}

const DAY_MS = 86_400_000;

/**
 * Reads a Retry-After header (RFC 9110 §10.2.3), in seconds or as a date, and caps it at one day. Returns undefined if
 * the value is neither.
 */
export function readRetryAfter(value: string | undefined, now: number): number | undefined {
  if (value === undefined) return undefined;
  const text = value.trim();
  if (/^\d{1,10}$/.test(text)) return Math.min(DAY_MS, Number(text) * 1000);
  const at = /^[A-Z][a-z]{2}, \d{2} /.test(text) ? Date.parse(text) : NaN;
  return Number.isNaN(at) ? undefined : Math.min(DAY_MS, Math.max(0, at - now));
}

/** An HTTP response of the authority, fully read; the caller has limited its size. */
export interface RawAnswer {
  status: number;
  contentType: string;
  retryAfter: string | undefined;
  body: Buffer;
}

type Fields = Readonly<Record<string, unknown>>;

/** Parses a JSON response. `what` names the resource in the AcmeFault that it throws. */
export function readFields(what: string, { status, contentType, body }: RawAnswer): Fields {
  const type = mediaType(contentType);
  if (type !== 'application/json' && type !== 'application/problem+json')
    throw new AcmeFault(`${what}: status ${status} with ${type || 'no content type'}, where JSON is the rule`);
  let value: unknown;
  try {
    value = JSON.parse(body.toString('utf8'));
  } catch {
    throw new AcmeFault(`${what}: status ${status} with JSON that cannot be read`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new AcmeFault(`${what}: status ${status} with JSON that is no object`);
  return value as Fields;
}

export const mediaType = (contentType: string): string =>
  inOneLine((contentType.split(';')[0] ?? '').toLowerCase(), 100);

/** Builds the fault for an error response, from its problem document (RFC 7807) if it has one. */
export function readRefusal(what: string, answer: RawAnswer, now: number): AcmeFault {
  const waitMs = readRetryAfter(answer.retryAfter, now);
  if (mediaType(answer.contentType) !== 'application/problem+json')
    return new AcmeFault(`${what}: status ${answer.status} without a reason`, { waitMs });
  try {
    return problemFault(`${what}: `, readFields(what, answer), waitMs);
  } catch (error) {
    return error instanceof AcmeFault ? error : new AcmeFault(`${what}: status ${answer.status}`, { waitMs });
  }
}

const PROBLEM = 'urn:ietf:params:acme:error:';
const SUBPROBLEMS_SHOWN = 3;

/** Puts `before` in front of the text of the problem. */
function problemFault(before: string, fields: Fields, waitMs?: number): AcmeFault {
  const { type, detail, subproblems } = fields;
  const problem = typeof type === 'string' && type.startsWith(PROBLEM) ? type.slice(PROBLEM.length) : '';
  const says = typeof detail === 'string' && detail !== '' ? detail : problem || 'no reason is given';
  const parts = Array.isArray(subproblems) ? (subproblems as unknown[]).filter(isFields) : [];
  const more = parts.slice(0, SUBPROBLEMS_SHOWN).map(({ detail: each }) => (typeof each === 'string' ? each : ''));
  const name = /^[A-Za-z]{1,60}$/.test(problem) ? problem : '';
  return new AcmeFault(`${before}${[says, ...more].filter(Boolean).join('; ')}${name && ` (${name})`}`, {
    problem: name,
    waitMs,
  });
}

const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null;

const fieldsIn = (value: unknown): Fields => (isFields(value) ? value : {});

/** Reads a URL of the authority. Only https is accepted, so that nobody on the path can read or change the exchange. */
export function readUrl(what: string, value: unknown): string {
  const url = typeof value === 'string' ? readHttpsUrl(value) : 'is missing.';
  if (typeof url === 'string') throw new AcmeFault(`${what} ${url}`);
  return url.href;
}

/** The next step of an order (RFC 8555 §7.1.6). */
export type OrderStep =
  | { kind: 'prove'; authorizations: string[] }
  | { kind: 'finalize'; url: string }
  | { kind: 'wait' }
  | { kind: 'download'; url: string }
  /** The order cannot succeed any more. */
  | { kind: 'over'; fault: AcmeFault };

const AUTHORIZATIONS_MAX = 100;

export function readOrder(answer: RawAnswer, names: readonly string[]): OrderStep {
  const fields = readFields('the order', answer);
  const { status } = fields;
  if (status === 'invalid') return { kind: 'over', fault: problemFault('the order failed: ', fieldsIn(fields.error)) };
  const ordered = formatIdentifiers(fields);
  if (ordered !== names.toSorted().join(' '))
    return { kind: 'over', fault: new AcmeFault(`the order is for ${ordered || 'nothing'}, not for what was asked`) };
  switch (status) {
    case 'pending':
      return { kind: 'prove', authorizations: readAuthorizations(fields) };
    case 'ready':
      return { kind: 'finalize', url: readUrl('finalize of the order', fields.finalize) };
    case 'processing':
      return { kind: 'wait' };
    case 'valid':
      return { kind: 'download', url: readUrl('certificate of the order', fields.certificate) };
    default:
      throw new AcmeFault(`the order has the status ${JSON.stringify(status ?? null)}, which RFC 8555 does not know`);
  }
}

function formatIdentifiers({ identifiers }: Fields): string {
  const all = Array.isArray(identifiers) ? (identifiers as unknown[]).map(fieldsIn) : [];
  return all
    .map(({ type, value }) => (type === 'dns' && typeof value === 'string' ? value.toLowerCase() : '?'))
    .toSorted()
    .join(' ');
}

function readAuthorizations({ authorizations }: Fields): string[] {
  const all = Array.isArray(authorizations) ? (authorizations as unknown[]) : [];
  if (all.length === 0 || all.length > AUTHORIZATIONS_MAX)
    throw new AcmeFault(`the order has ${all.length} authorizations, where 1 to ${AUTHORIZATIONS_MAX} are the rule`);
  return all.map((url) => readUrl('an authorization of the order', url));
}

export type ChallengeType = 'http-01' | 'tls-alpn-01' | 'dns-01';

interface Challenge {
  url: string;
  token: string;
  /** The authority waits for us to say that the challenge is ready. */
  isPending: boolean;
}

export type Authorization =
  | { kind: 'valid'; name: string }
  | { kind: 'pending'; name: string; challenge: Challenge }
  | { kind: 'failed'; fault: AcmeFault };

/**
 * RFC 8555 §8.3: base64url and at least 128 bits. The upper bound keeps the paths under which we serve tokens short.
 */
export const isToken = (text: string): boolean => /^[A-Za-z0-9_-]{22,256}$/.test(text);

/** Reads an authorization and selects the challenge of the wanted type. */
export function readAuthorization(answer: RawAnswer, wanted: ChallengeType): Authorization {
  const fields = readFields('an authorization', answer);
  const { value } = fieldsIn(fields.identifier);
  // RFC 8555 §7.1.4: the identifier of a wildcard authorization omits the asterisk.
  const asterisk = fields.wildcard === true ? '*.' : '';
  const name = typeof value === 'string' ? asterisk + value.toLowerCase() : '';
  const { challenges, status } = fields;
  const all = Array.isArray(challenges) ? (challenges as unknown[]).map(fieldsIn) : [];
  if (status === 'valid') return { kind: 'valid', name };
  if (status !== 'pending') {
    const problem = all.map(({ error }) => error).find((error) => error !== undefined);
    return { kind: 'failed', fault: problemFault(`${name || 'a name'} was not proven: `, fieldsIn(problem)) };
  }
  const found = all.find(({ type }) => type === wanted);
  if (!found) throw new AcmeFault(`the authority offers no ${wanted} for ${name}; choose another acme.challenge`);
  const { token } = found;
  if (typeof token !== 'string' || !isToken(token))
    throw new AcmeFault(`the ${wanted} challenge for ${name} has no usable token`);
  const url = readUrl(`the ${wanted} challenge for ${name}`, found.url);
  return { kind: 'pending', name, challenge: { url, token, isPending: found.status === 'pending' } };
}

export interface Chain {
  /** The chain in PEM, our certificate first, re-encoded by us. */
  pem: string;
  leaf: X509Certificate;
  startsAt: number;
  endsAt: number;
}

interface ChainWishes {
  names: readonly string[];
  privateKey: KeyObject;
  now: number;
}

const CERTIFICATES_MAX = 10;
const BLOCK = /-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\r\n]+-----END CERTIFICATE-----/g;
/** The clock of an authority may be ahead of ours. */
const AHEAD_MS = 3_600_000;

/** Checks a downloaded chain: it must cover these names, use our key and be valid now. Throws otherwise. */
export function readChain(text: string, { names, privateKey, now }: ChainWishes): Chain {
  // RFC 8555 §9.1 allows only certificates in the file. One parser would skip other text as a comment and another would
  // not.
  if (text.replaceAll(BLOCK, '').trim() !== '') throw wrong('holds more than certificates in PEM');
  const all = (text.match(BLOCK) ?? []).map(parse);
  const [leaf] = all;
  if (!leaf) throw wrong('holds no certificate in PEM');
  if (all.length > CERTIFICATES_MAX) throw wrong(`has ${all.length} certificates, more than ${CERTIFICATES_MAX}`);
  if (!leaf.checkPrivateKey(privateKey)) throw wrong('is for another key than ours');
  const missing = names.find((name) => leaf.checkHost(name, { wildcards: false, subject: 'never' }) === undefined);
  if (missing !== undefined) throw wrong(`is not for ${missing}`);
  const startsAt = leaf.validFromDate.getTime();
  const endsAt = leaf.validToDate.getTime();
  if (endsAt <= now) throw wrong(`ended at ${new Date(endsAt).toISOString()}, before it came`);
  if (startsAt > now + AHEAD_MS) throw wrong(`begins at ${new Date(startsAt).toISOString()}; look at the clock`);
  all.slice(1).forEach((issuer, index) => {
    const signed = all[index] as X509Certificate;
    if (!signed.checkIssued(issuer) || !signed.verify(issuer.publicKey))
      throw wrong(`does not hold together: number ${index + 2} did not sign number ${index + 1}`);
  });
  return { pem: all.map(String).join(''), leaf, startsAt, endsAt };
}

function parse(block: string): X509Certificate {
  try {
    return new X509Certificate(block);
  } catch {
    throw wrong('holds a certificate that cannot be read');
  }
}

const wrong = (says: string): AcmeFault => new AcmeFault(`the certificate that was issued ${says}; it is not used`);

/** Returns when to renew a certificate if the authority suggests nothing: after two thirds of its lifetime. */
export function renewalTime({ startsAt, endsAt }: { startsAt: number; endsAt: number }, random: number): number {
  const life = endsAt - startsAt;
  // Up to a twentieth of the lifetime earlier, so that certificates issued together are not renewed together.
  return Math.round(startsAt + life * (2 / 3 - random / 20));
}

/**
 * Returns the identifier of a certificate for the authority's renewal information (RFC 9773 §4.1), or undefined if the
 * certificate has no authority key identifier.
 */
export function renewalId(leaf: X509Certificate): string | undefined {
  const marks = readMarks(leaf);
  if (!marks?.authorityKeyIdentifier) return undefined;
  return `${base64url(marks.authorityKeyIdentifier)}.${base64url(marks.serial)}`;
}

/**
 * Picks a time in the renewal window that the authority suggests (RFC 9773 §4.2); undefined if it suggests no usable
 * one.
 */
export function readRenewalWindow(answer: RawAnswer, random: number): number | undefined {
  const { start, end } = fieldsIn(readFields('the renewal information', answer).suggestedWindow);
  const from = typeof start === 'string' ? Date.parse(start) : NaN;
  const to = typeof end === 'string' ? Date.parse(end) : NaN;
  return to > from ? Math.round(from + (to - from) * random) : undefined;
}

/** The endpoints of an authority (RFC 8555 §7.1.1). */
export interface Directory {
  newNonce: string;
  newAccount: string;
  newOrder: string;
  /** The endpoint for renewal information (RFC 9773); undefined if the authority has none. */
  renewalInfo: string | undefined;
  /** The authority accepts only accounts that are bound to an existing customer account. */
  needsExternalAccount: boolean;
}

/** The names that identify the authority in CAA records (RFC 8555 §9.7.6); empty if it publishes none. */
export function caaIdentities(body: Buffer): string[] {
  try {
    const names = fieldsIn(fieldsIn(JSON.parse(body.toString('utf8'))).meta).caaIdentities;
    const isName = (name: unknown): name is string => typeof name === 'string' && /^[a-z0-9.-]{1,253}$/i.test(name);
    return Array.isArray(names) ? (names as unknown[]).filter(isName).slice(0, 10) : [];
  } catch {
    return [];
  }
}

export function readDirectory(answer: RawAnswer): Directory {
  const fields = readFields('the directory', answer);
  const at = (name: string): string => readUrl(`${name} of the directory`, fields[name]);
  return {
    newNonce: at('newNonce'),
    newAccount: at('newAccount'),
    newOrder: at('newOrder'),
    renewalInfo: fields.renewalInfo === undefined ? undefined : at('renewalInfo'),
    needsExternalAccount: fieldsIn(fields.meta).externalAccountRequired === true,
  };
}
