import { createHash, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { selfSignedCertificate } from '../x509/index.ts';
import { thumbprint } from './jws.ts';

/** RFC 8555 §8.1: what shows that the server of a name belongs to the account. */
export const keyAuthorization = (token: string, accountKey: KeyObject): string => `${token}.${thumbprint(accountKey)}`;

/** RFC 8737: what the validator of `tls-alpn-01` says that it speaks. */
export const ACME_TLS = 'acme-tls/1';

const DAY_MS = 86_400_000;

export interface ProofWishes {
  name: string;
  /** The key authorization. */
  authorization: string;
  now: number;
  /** Up to 19 bytes that no other certificate has. */
  serial: Buffer;
}

/** The certificate that answers `tls-alpn-01` for a name (RFC 8737 §3); in PEM, with its key. */
export function alpnCertificate({ name, authorization, now, serial }: ProofWishes): { cert: string; key: string } {
  const keys = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const cert = selfSignedCertificate({
    names: [name],
    notBefore: new Date(now - DAY_MS),
    notAfter: new Date(now + DAY_MS),
    serial,
    acmeIdentifier: createHash('sha256').update(authorization).digest(),
    ...keys,
  });
  return { cert, key: keys.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString() };
}
