import { generateKeyPairSync, randomBytes, X509Certificate } from 'node:crypto';
import { closeSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, rmSync, writeSync } from 'node:fs';
import path from 'node:path';
import { selfSignedCertificate } from '../../protocol/x509/index.ts';

/** In PEM. */
export interface TlsKeys {
  cert: string;
  key: string;
}

interface Wanted {
  dataDir: string;
  host: string;
  /** Addresses that it is valid for, too. */
  addresses: readonly string[];
  now: number;
}

const FOLDER = 'tls';
const FILE = 'self-signed.pem';
const DAY_MS = 86_400_000;
/** Who pins it must not be surprised; clients that do not pin it do not look at its date. */
const LIFE_MS = 3650 * DAY_MS;
/** Clocks of clients may be behind. */
const BEFORE_MS = DAY_MS;

/** Made once for a host name: programs that remember a certificate must meet the same after each start. */
export function keepSelfSigned(wanted: Wanted): TlsKeys {
  const kept = read(wanted);
  if (kept) return kept;
  const made = make(wanted);
  write(wanted.dataDir, `${made.key}${made.cert}`);
  return made;
}

const fileOf = (dataDir: string): string => path.join(dataDir, FOLDER, FILE);

/** What is there, if it is whole, for this name and not over. */
function read({ dataDir, host, addresses, now }: Wanted): TlsKeys | undefined {
  try {
    const text = readFileSync(fileOf(dataDir), 'utf8');
    const certificate = new X509Certificate(text);
    if (certificate.checkHost(host) === undefined || certificate.validToDate.getTime() < now) return undefined;
    if (addresses.some((address) => certificate.checkIP(address) === undefined)) return undefined;
    const at = text.indexOf('-----BEGIN CERTIFICATE-----');
    return { key: text.slice(0, at), cert: text.slice(at) };
  } catch {
    // Nothing depends on the old one but habit.
    return undefined;
  }
}

function make({ host, addresses, now }: Wanted): TlsKeys {
  const keys = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const [notBefore, notAfter] = [new Date(now - BEFORE_MS), new Date(now + LIFE_MS)];
  const cert = selfSignedCertificate({
    names: [host, ...addresses],
    notBefore,
    notAfter,
    serial: randomBytes(15),
    ...keys,
  });
  return { key: keys.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(), cert };
}

/** Whole and synced under its name, or not there. */
function write(dataDir: string, text: string): void {
  const file = fileOf(dataDir);
  const folder = path.dirname(file);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const part = `${file}.${process.pid}.part`;
  try {
    const handle = openSync(part, 'w', 0o600);
    try {
      writeSync(handle, text);
      fsyncSync(handle);
    } finally {
      closeSync(handle);
    }
    renameSync(part, file);
  } catch (error) {
    rmSync(part, { force: true });
    throw error;
  }
  for (const each of [folder, dataDir]) {
    const handle = openSync(each, 'r');
    fsyncSync(handle);
    closeSync(handle);
  }
}
