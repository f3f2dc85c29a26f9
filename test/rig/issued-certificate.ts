import { execFileSync } from 'node:child_process';
import { generateKeyPairSync, X509Certificate } from 'node:crypto';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { scratchFolder } from './scratch.ts';
import type { Certificate } from './tls.ts';

export interface IssueWishes {
  subject: string;
  names?: string[];
  /** Signs itself without one. */
  issuer?: Issued;
  /** An authority may issue certificates. */
  isAuthority?: boolean;
  /** Valid from now on for so long; 30 without it. */
  days?: number;
  /** A key of another certificate, instead of its own. */
  key?: string;
}

export interface Issued extends Certificate {
  x509: X509Certificate;
}

/** Issues one certificate of a chain, with openssl. */
export function issueCertificate(wishes: IssueWishes): Issued {
  const { subject, names = [], issuer, isAuthority = false, days = 30 } = wishes;
  const folder = scratchFolder('rasket-issued-');
  const at = (name: string): string => path.join(folder, name);
  const openssl = (...args: string[]): Buffer => execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' });
  try {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
    const key = wishes.key ?? privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    const extensions = [
      `basicConstraints=critical,CA:${isAuthority ? 'true' : 'false'}`,
      ...(isAuthority ? ['keyUsage=critical,keyCertSign'] : []),
      ...(names.length > 0 ? [`subjectAltName=${names.map((name) => `DNS:${name}`).join(',')}`] : []),
    ];
    writeFileSync(at('extensions'), extensions.join('\n'));
    writeFileSync(at('own.key'), key);
    writeFileSync(at('issuer.key'), issuer?.key ?? key);
    if (issuer) writeFileSync(at('issuer.pem'), issuer.cert);
    openssl('req', '-new', '-key', 'own.key', '-subj', `/CN=${subject}`, '-out', 'request');
    const signer = issuer ? ['-CA', 'issuer.pem', '-CAkey', 'issuer.key', '-CAcreateserial'] : ['-signkey', 'own.key'];
    const form = ['-extfile', 'extensions', '-days', String(days), '-out', 'own.pem'];
    openssl('x509', '-req', '-in', 'request', ...signer, ...form);
    const cert = readFileSync(at('own.pem'), 'utf8');
    return { key, cert, x509: new X509Certificate(cert) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
