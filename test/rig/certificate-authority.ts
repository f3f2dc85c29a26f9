import { execFileSync } from 'node:child_process';
import { createPrivateKey, createPublicKey, X509Certificate } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { scratchFolder } from './scratch.ts';

export interface IssueWishes {
  days: number;
  /** Issues for these names instead of the requested ones. */
  names?: readonly string[];
  /** Issues for a key of its own instead of the requester's. */
  otherKey?: boolean;
}

export interface CertificateAuthority {
  /** The root certificate in PEM, which a client has to trust. */
  root: string;
  /** Returns the chain for a request in DER, without the root; throws if the request's own signature is invalid. */
  issue(csr: Buffer, wishes: IssueWishes): string;
  namesIn(csr: Buffer): string[];
  close(): void;
}

/** Creates an authority with an intermediate, using openssl: another implementation reads what we write. */
export function makeCertificateAuthority(): CertificateAuthority {
  const folder = scratchFolder('rasket-ca-');
  const at = (name: string): string => path.join(folder, name);
  const openssl = (args: string[], input?: Buffer | string): string =>
    execFileSync('openssl', args, { cwd: folder, input, encoding: 'utf8', stdio: ['pipe', 'pipe', 'pipe'] });
  const key = (name: string): void =>
    writeFileSync(at(`${name}.key`), openssl(['genpkey', '-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:P-256']));
  const ca = 'basicConstraints=critical,CA:true\nkeyUsage=critical,keyCertSign\nsubjectKeyIdentifier=hash\n';
  writeFileSync(at('ca.ext'), ca);
  key('root');
  key('middle');
  key('other');
  const root = ['-key', 'root.key', '-subj', '/CN=Test root', '-days', '3650', '-out', 'root.pem'];
  openssl(['req', '-x509', '-new', ...root, '-addext', 'keyUsage=critical,keyCertSign']);
  openssl(['req', '-new', '-key', 'middle.key', '-subj', '/CN=Test intermediate', '-out', 'middle.csr']);
  const signed = ['-CA', 'root.pem', '-CAkey', 'root.key', '-CAcreateserial', '-extfile', 'ca.ext', '-days', '3000'];
  openssl(['x509', '-req', '-in', 'middle.csr', ...signed, '-out', 'middle.pem']);
  const read = (name: string): string => new X509Certificate(execFileSync('cat', [at(name)])).toString();
  let serial = 0x1000;

  function namesIn(csr: Buffer): string[] {
    const text = openssl(['req', '-inform', 'DER', '-noout', '-text'], csr);
    return (text.match(/DNS:[^,\s]+/g) ?? []).map((name) => name.slice(4)).toSorted();
  }

  return {
    root: read('root.pem'),
    namesIn,
    issue(csr, { days, names = namesIn(csr), otherKey = false }) {
      openssl(['req', '-inform', 'DER', '-noout', '-verify'], csr);
      const sans = names.map((name) => `DNS:${name}`).join(',');
      writeFileSync(
        at('leaf.ext'),
        `subjectAltName=${sans}\nauthorityKeyIdentifier=keyid\nkeyUsage=critical,digitalSignature\n`,
      );
      writeFileSync(at('leaf.csr'), csr);
      const other = createPublicKey(createPrivateKey(execFileSync('cat', [at('other.key')])));
      writeFileSync(at('other.pub'), other.export({ type: 'spki', format: 'pem' }));
      const force = otherKey ? ['-force_pubkey', 'other.pub'] : [];
      const by = ['-CA', 'middle.pem', '-CAkey', 'middle.key', '-set_serial', String(++serial)];
      const leaf = openssl([
        'x509',
        '-req',
        '-inform',
        'DER',
        '-in',
        'leaf.csr',
        ...by,
        ...force,
        '-extfile',
        'leaf.ext',
        '-days',
        String(days),
      ]);
      return leaf + read('middle.pem');
    },
    close: () => rmSync(folder, { recursive: true, force: true }),
  };
}
