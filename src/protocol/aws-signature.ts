/**
 * AWS Signature Version 4 for S3, in request headers. The complete packages for it bring a client of their own, with
 * retries and copies of bodies in memory; the signature itself fits in this file, and the client is
 * `platform/object-store`.
 */
import { createHash, createHmac } from 'node:crypto';

export interface Unsigned {
  method: string;
  /** Not percent-encoded: `/bucket/a key`. */
  path: string;
  query?: Readonly<Record<string, string>>;
  /** Names in lower case, including `host`. All are signed. */
  headers: Readonly<Record<string, string>>;
  /** SHA-256 of the body, in hexadecimal. */
  bodyHash: string;
}

export interface SigningKey {
  accessKey: string;
  secretKey: string;
  region: string;
}

export const EMPTY_BODY_HASH = createHash('sha256').digest('hex');

/** Returns the headers to send, including `authorization`. */
export function signRequest(request: Unsigned, key: SigningKey, nowMs: number): Record<string, string> {
  const time = amzTime(nowMs);
  const headers = { ...request.headers, 'x-amz-content-sha256': request.bodyHash, 'x-amz-date': time };
  const names = Object.keys(headers).sort();
  const signature = computeSignature({ ...request, headers }, { key, time, names });
  const credential = `${key.accessKey}/${formatScope(key, time)}`;
  return {
    ...headers,
    authorization: `AWS4-HMAC-SHA256 Credential=${credential}, SignedHeaders=${names.join(';')}, Signature=${signature}`,
  };
}

/** Returns the signature in hexadecimal over these headers. A verifier of requests calls it as well. */
export function computeSignature(
  { method, path, query = {}, headers, bodyHash }: Unsigned,
  { key, time, names }: { key: SigningKey; time: string; names: readonly string[] },
): string {
  const canonical = [
    method,
    encodedPath(path),
    encodedQuery(query),
    ...names.map((name) => `${name}:${(headers[name] ?? '').trim().replaceAll(/ +/g, ' ')}`),
    '',
    names.join(';'),
    bodyHash,
  ].join('\n');
  const hash = createHash('sha256').update(canonical).digest('hex');
  const text = ['AWS4-HMAC-SHA256', time, formatScope(key, time), hash].join('\n');
  const parts = [time.slice(0, 8), key.region, 's3', 'aws4_request', text];
  return parts.reduce<Buffer>((mac, part) => hmac(mac, part), Buffer.from(`AWS4${key.secretKey}`)).toString('hex');
}

/** Encodes every octet except the unreserved ones of RFC 3986 and the slashes between segments. */
export const encodedPath = (path: string): string => path.split('/').map(encodedText).join('/');

export const encodedQuery = (query: Readonly<Record<string, string>>): string =>
  Object.entries(query)
    .map(([name, value]) => `${encodedText(name)}=${encodedText(value)}`)
    .sort()
    .join('&');

const encodedText = (text: string): string =>
  encodeURIComponent(text).replaceAll(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);

const hmac = (key: Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();

const formatScope = ({ region }: SigningKey, time: string): string => `${time.slice(0, 8)}/${region}/s3/aws4_request`;

/** `20261126T213000Z`. */
const amzTime = (ms: number): string => new Date(ms).toISOString().replaceAll(/[-:]|\.\d+/g, '');
