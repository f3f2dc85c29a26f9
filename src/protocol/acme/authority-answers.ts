import { X509Certificate, type KeyObject } from 'node:crypto';
import { readMarks } from '../x509.ts';
import { base64url } from './jws.ts';
import { readHttpsUrl } from '../https-url.ts';

/** What went wrong with an authority, in one line that may be shown to an operator. */
export class AcmeFault extends Error {
  override name = 'AcmeFault';
  /** The last word of the type of a problem document, such as `rateLimited`; empty where there was none. */
  readonly problem: string;
  /** How long the authority asks to be left alone; undefined where it does not. */
  readonly waitMs: number | undefined;

  constructor(message: string, { problem = '', waitMs }: { problem?: string; waitMs?: number | undefined } = {}) {
    super(inOneLine(message, TEXT_CHARS_MAX));
    this.problem = problem;
    this.waitMs = waitMs;
  }
}

const TEXT_CHARS_MAX = 500;

/** Text of others, without what would break a line or a terminal. */
function inOneLine(text: string, charsMax: number): string {
  const clean = text
    .replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();
  return clean.length > charsMax ? `${clean.slice(0, charsMax - 1)}…` : clean;
}

const DAY_MS = 86_400_000;

/** How long to wait (RFC 9110 §10.2.3), a day at the most: seconds or a date. Undefined where it says neither. */
export function readRetryAfter(value: string | undefined, now: number): number | undefined {
  if (value === undefined) return undefined;
  const text = value.trim();
  if (/^\d{1,10}$/.test(text)) return Math.min(DAY_MS, Number(text) * 1000);
  const at = /^[A-Z][a-z]{2}, \d{2} /.test(text) ? Date.parse(text) : NaN;
  return Number.isNaN(at) ? undefined : Math.min(DAY_MS, Math.max(0, at - now));
}

/** What came over the line, read whole; its reader has held it to a size. */
export interface RawAnswer {
  status: number;
  contentType: string;
  retryAfter: string | undefined;
  body: Buffer;
}

type Fields = Readonly<Record<string, unknown>>;

/** The fields of an answer in JSON. `what` names it in the fault. */
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

/** The fault that a refusing answer is: its problem document (RFC 7807) as far as there is one. */
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

/** `before` stands in front of what the problem says. */
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

/** An address to ask next: https, so that a host on the way neither reads nor changes what is said. */
export function readUrl(what: string, value: unknown): string {
  const url = typeof value === 'string' ? readHttpsUrl(value) : 'is missing.';
  if (typeof url === 'string') throw new AcmeFault(`${what} ${url}`);
  return url.href;
}

/** What is to be done next with an order (RFC 8555 §7.1.6). */
export type OrderStep =
  | { kind: 'prove'; authorizations: string[] }
  | { kind: 'finalize'; url: string }
  | { kind: 'wait' }
  | { kind: 'download'; url: string }
  /** It leads nowhere any more. */
  | { kind: 'over'; fault: AcmeFault };

const AUTHORIZATIONS_MAX = 100;

export function readOrder(answer: RawAnswer, names: readonly string[]): OrderStep {
  const fields = readFields('the order', answer);
  const { status } = fields;
  if (status === 'invalid') return { kind: 'over', fault: problemFault('the order failed: ', fieldsIn(fields.error)) };
  const ordered = identifiersOf(fields);
  if (ordered !== names.toSorted().join(' '))
    return { kind: 'over', fault: new AcmeFault(`the order is for ${ordered || 'nothing'}, not for what was asked`) };
  switch (status) {
    case 'pending':
      return { kind: 'prove', authorizations: authorizationsOf(fields) };
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

function identifiersOf({ identifiers }: Fields): string {
  const all = Array.isArray(identifiers) ? (identifiers as unknown[]).map(fieldsIn) : [];
  return all
    .map(({ type, value }) => (type === 'dns' && typeof value === 'string' ? value.toLowerCase() : '?'))
    .toSorted()
    .join(' ');
}

function authorizationsOf({ authorizations }: Fields): string[] {
  const all = Array.isArray(authorizations) ? (authorizations as unknown[]) : [];
  if (all.length === 0 || all.length > AUTHORIZATIONS_MAX)
    throw new AcmeFault(`the order has ${all.length} authorizations, where 1 to ${AUTHORIZATIONS_MAX} are the rule`);
  return all.map((url) => readUrl('an authorization of the order', url));
}

export type ChallengeType = 'http-01' | 'tls-alpn-01' | 'dns-01';

interface Challenge {
  url: string;
  token: string;
  /** It waits for our word that it may be looked at. */
  isPending: boolean;
}

export type Authorization =
  | { kind: 'valid'; name: string }
  | { kind: 'pending'; name: string; challenge: Challenge }
  | { kind: 'failed'; fault: AcmeFault };

/** RFC 8555 §8.3: the alphabet of base64url and at least 128 bits; no more than a path of ours should hold. */
export const isToken = (text: string): boolean => /^[A-Za-z0-9_-]{22,256}$/.test(text);

/** How a name is proven, by the kind of challenge that is chosen. */
export function readAuthorization(answer: RawAnswer, wanted: ChallengeType): Authorization {
  const fields = readFields('an authorization', answer);
  const { value } = fieldsIn(fields.identifier);
  // RFC 8555 §7.1.4: of a wildcard, the asterisk is left out.
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
  /** PEM, ours first, in the form we write it ourselves. */
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
/** Clocks of authorities may be ahead of ours. */
const AHEAD_MS = 3_600_000;

/** What was downloaded, if it is what was asked for: a chain for these names, with our key, and in force. */
export function readChain(text: string, { names, privateKey, now }: ChainWishes): Chain {
  // RFC 8555 §9.1 leaves nothing else in the file: text between would be taken for comments by one reader, not by another.
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

/** When a certificate is renewed without the authority's word: at two thirds of its life, whatever that is. */
export function renewalTime({ startsAt, endsAt }: { startsAt: number; endsAt: number }, random: number): number {
  const life = endsAt - startsAt;
  // Up to a twentieth earlier, so that those that were issued together do not come together.
  return Math.round(startsAt + life * (2 / 3 - random / 20));
}

/** What a certificate is called where its authority says when to renew it (RFC 9773 §4.1). */
export function renewalId(leaf: X509Certificate): string | undefined {
  const marks = readMarks(leaf);
  if (!marks?.authorityKeyIdentifier) return undefined;
  return `${base64url(marks.authorityKeyIdentifier)}.${base64url(marks.serial)}`;
}

/** A time in the window that the authority suggests (RFC 9773 §4.2); undefined where it suggests none that makes sense. */
export function readRenewalWindow(answer: RawAnswer, random: number): number | undefined {
  const { start, end } = fieldsIn(readFields('the renewal information', answer).suggestedWindow);
  const from = typeof start === 'string' ? Date.parse(start) : NaN;
  const to = typeof end === 'string' ? Date.parse(end) : NaN;
  return to > from ? Math.round(from + (to - from) * random) : undefined;
}

/** Where an authority is asked what (RFC 8555 §7.1.1). */
export interface Directory {
  newNonce: string;
  newAccount: string;
  newOrder: string;
  /** Where it says when a certificate should be renewed (RFC 9773); undefined where it does not. */
  renewalInfo: string | undefined;
  /** It takes only accounts that are bound to one that it gave out before. */
  needsExternalAccount: boolean;
}

/** The names by which the authority is known in CAA records (RFC 8555 §9.7.6); none where it says none. */
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
