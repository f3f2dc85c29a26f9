import { createHash, createHmac, createPublicKey, sign, type KeyObject } from 'node:crypto';

export const base64url = (bytes: Buffer | string): string => Buffer.from(bytes).toString('base64url');

/** A public key on P-256, its members in the order in which RFC 7638 hashes them. */
export interface PublicJwk {
  crv: string;
  kty: string;
  x: string;
  y: string;
}

export function publicJwk(privateKey: KeyObject): PublicJwk {
  const { crv = '', kty = '', x = '', y = '' } = createPublicKey(privateKey).export({ format: 'jwk' });
  if (kty !== 'EC' || crv !== 'P-256') throw new TypeError('an account has a key on P-256');
  return { crv, kty, x, y };
}

/** RFC 7638: the thumbprint of the account's key, as used in key authorizations. */
export const thumbprint = (privateKey: KeyObject): string =>
  createHash('sha256')
    .update(JSON.stringify(publicJwk(privateKey)))
    .digest('base64url');

export interface RequestToSign {
  privateKey: KeyObject;
  /** The account's URL; undefined before the account exists, when the request contains the public key instead. */
  account: string | undefined;
  nonce: string;
  url: string;
  /** Undefined for a POST-as-GET request (RFC 8555 §6.3). */
  payload: unknown;
}

/** The body of a request: a flattened JWS with ES256 (RFC 8555 §6.2). */
export function signRequest({ privateKey, account, nonce, url, payload }: RequestToSign): string {
  const who = account === undefined ? { jwk: publicJwk(privateKey) } : { kid: account };
  const head = base64url(JSON.stringify({ alg: 'ES256', nonce, url, ...who }));
  const content = payload === undefined ? '' : base64url(JSON.stringify(payload));
  const signature = sign('sha256', Buffer.from(`${head}.${content}`), { key: privateKey, dsaEncoding: 'ieee-p1363' });
  return JSON.stringify({ protected: head, payload: content, signature: base64url(signature) });
}

/** Credentials for binding a new ACME account to an existing account at the authority. */
export interface ExternalAccount {
  keyId: string;
  hmacKey: Buffer;
}

/** Signs the new account's key with the key of the existing account (RFC 8555 §7.3.4). */
export function bindExternalAccount(privateKey: KeyObject, url: string, { keyId, hmacKey }: ExternalAccount): object {
  const head = base64url(JSON.stringify({ alg: 'HS256', kid: keyId, url }));
  const payload = base64url(JSON.stringify(publicJwk(privateKey)));
  const signature = createHmac('sha256', hmacKey).update(`${head}.${payload}`).digest();
  return { protected: head, payload, signature: base64url(signature) };
}

/** RFC 8555 §6.5.1. Anything else would be an invalid header in the next request. */
export const isNonce = (text: string | undefined): text is string =>
  text !== undefined && /^[A-Za-z0-9_-]{1,512}$/.test(text);
