import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { selfSignedCertificate } from '../../src/protocol/x509.ts';

export interface Certificate {
  key: string;
  cert: string;
}

export interface CertificateWishes {
  names?: string[];
  notBefore?: Date;
  notAfter?: Date;
}

/** Makes a self-signed certificate at run time, so that no key is in the repository and no expiry date breaks a build. */
export function makeCertificate(wishes: CertificateWishes = {}): Certificate {
  const keys = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const cert = selfSignedCertificate({
    names: wishes.names ?? ['localhost'],
    notBefore: wishes.notBefore ?? new Date(Date.now() - 86_400_000),
    notAfter: wishes.notAfter ?? new Date(Date.now() + 86_400_000),
    serial: randomBytes(15),
    ...keys,
  });
  return { key: keys.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(), cert };
}

/** Makes a certificate that has expired and is for another name, as a careless mail server presents. */
export function makeBadCertificate(): Certificate {
  return makeCertificate({
    names: ['expired.invalid'],
    notBefore: new Date('2001-01-01T00:00:00Z'),
    notAfter: new Date('2002-01-01T00:00:00Z'),
  });
}
