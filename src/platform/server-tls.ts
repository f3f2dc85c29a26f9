import {
  statSync,
  readFileSync,
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { isoTime, repeat, type Clock } from './clock.ts';
import type { Config } from './config/index.ts';
import type { Log } from './log/index.ts';
import { createPrivateKey, X509Certificate, generateKeyPairSync, randomBytes, type KeyObject } from 'node:crypto';
import path from 'node:path';
import { createSecureContext, type SecureContext } from 'node:tls';
import { selfSignedCertificate } from '../protocol/x509.ts';

/** Paths of the operator's files. */
interface Files {
  cert: string;
  key: string;
}

/** One line about one file, and the setting that names it. */
interface FileFault {
  setting: 'tls.certificate_file' | 'tls.key_file';
  text: string;
  cause: unknown;
}

interface Examined {
  /** Undefined if there is a fault. */
  keys: TlsKeys | undefined;
  /** Validity of the certificate in milliseconds since the epoch; undefined without a certificate. */
  startsAt: number | undefined;
  endsAt: number | undefined;
  faults: readonly FileFault[];
}

/** Returns undefined if no certificate is configured. */
export function locateCertificateFiles({ tls }: Config, dataDir: string): Files | undefined {
  const { certificate_file: cert, key_file: key } = tls;
  if (cert === '') return undefined;
  return { cert: path.resolve(dataDir, cert), key: path.resolve(dataDir, key === '' ? cert : key) };
}

/** Reads both files, and finds all faults. */
export function examineCertificate(files: Files): Examined {
  const faults: FileFault[] = [];
  const about = (setting: FileFault['setting'], says: string) => ({ setting, says, faults });
  const ofCert = `${files.cert} (tls.certificate_file)`;
  const ofKey = `${files.key} (tls.key_file)`;
  const cert = readText('tls.certificate_file', files.cert, faults);
  // If both are one file, report only once that it is missing.
  const key = files.key === files.cert ? cert : readText('tls.key_file', files.key, faults);
  const leaf = attempt(
    () => (cert === undefined ? undefined : new X509Certificate(cert)),
    about('tls.certificate_file', `${ofCert} holds no certificate in PEM; give the chain, our own certificate first`),
  );
  const privateKey = attempt<KeyObject | undefined>(
    () => (key === undefined ? undefined : createPrivateKey(key)),
    about('tls.key_file', `${ofKey} holds no private key in PEM without a passphrase`),
  );
  const startsAt = leaf?.validFromDate.getTime();
  const endsAt = leaf?.validToDate.getTime();
  if (!leaf || !privateKey || cert === undefined || key === undefined)
    return { keys: undefined, startsAt, endsAt, faults };
  if (!leaf.checkPrivateKey(privateKey)) {
    const says = `${ofKey} is not the key of the first certificate in ${files.cert}; our own stands first, those that signed it behind it`;
    faults.push({ setting: 'tls.key_file', text: says, cause: undefined });
  } else {
    attempt(
      () => createSecureContext({ cert, key }),
      about('tls.certificate_file', `${ofCert} cannot be used for TLS`),
    );
  }
  return { keys: faults.length === 0 ? { cert, key } : undefined, startsAt, endsAt, faults };
}

function readText(setting: FileFault['setting'], file: string, faults: FileFault[]): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    faults.push({ setting, text: unreadable(file, setting, error), cause: error });
    return undefined;
  }
}

/** Explains on one line why a file that a setting names cannot be read. */
export function unreadable(file: string, setting: string, error: unknown): string {
  const { code = '' } = error as NodeJS.ErrnoException;
  return `${file} (${setting}) cannot be read (${code}); ${ADVICE[code] ?? 'look at the file'}`;
}

const ADVICE: Record<string, string> = {
  ENOENT: 'there is no such file; paths are relative to the data folder',
  EACCES: 'let the account that rasket runs as read it',
  EISDIR: 'it is a folder; name the file in it',
};

function attempt<T>(
  work: () => T,
  { setting, says, faults }: { setting: FileFault['setting']; says: string; faults: FileFault[] },
): T | undefined {
  try {
    return work();
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    faults.push({ setting, text: `${says} (${why})`, cause: error });
    return undefined;
  }
}

/** In PEM. */
export interface TlsKeys {
  cert: string;
  key: string;
}

interface Wanted {
  dataDir: string;
  host: string;
  /** Addresses for which it must be valid, too. */
  addresses: readonly string[];
  now: number;
}

const FOLDER = 'tls';
const FILE = 'self-signed.pem';
const DAY_MS = 86_400_000;
/** Long, so that clients that pin it see no change; other clients ignore its date. */
const LIFE_MS = 3650 * DAY_MS;
/** Clocks of clients may be slow. */
const BEFORE_MS = DAY_MS;

/**
 * Keeps one self-signed certificate per host name: programs that remember a certificate must see the same one after
 * each start.
 */
function keepSelfSigned(wanted: Wanted): TlsKeys {
  const kept = read(wanted);
  if (kept) return kept;
  const made = make(wanted);
  write(wanted.dataDir, `${made.key}${made.cert}`);
  return made;
}

const locateFile = (dataDir: string): string => path.join(dataDir, FOLDER, FILE);

/** Returns the stored certificate if it is complete, for this name and not expired. */
function read({ dataDir, host, addresses, now }: Wanted): TlsKeys | undefined {
  try {
    const text = readFileSync(locateFile(dataDir), 'utf8');
    const certificate = new X509Certificate(text);
    if (certificate.checkHost(host) === undefined || certificate.validToDate.getTime() < now) return undefined;
    if (addresses.some((address) => certificate.checkIP(address) === undefined)) return undefined;
    const at = text.indexOf('-----BEGIN CERTIFICATE-----');
    return { key: text.slice(0, at), cert: text.slice(at) };
  } catch {
    // A missing or damaged file is replaced; only clients that remember the old certificate notice.
    return undefined;
  }
}

function make({ host, addresses, now }: Wanted): TlsKeys {
  const keys = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const notBefore = new Date(now - BEFORE_MS);
  const notAfter = new Date(now + LIFE_MS);
  const cert = selfSignedCertificate({
    names: [host, ...addresses],
    notBefore,
    notAfter,
    serial: randomBytes(15),
    ...keys,
  });
  return { key: keys.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(), cert };
}

/** Writes the file completely and synced under its name, or not at all. */
function write(dataDir: string, text: string): void {
  const file = locateFile(dataDir);
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

/** The certificate cannot be used: one line that names the file, the reason and what to do. */
export class CertificateFault extends Error {
  override name = 'CertificateFault';
}

export interface ServerTls {
  /** Returns the certificate for new connections. */
  current(): TlsKeys;
  /** Registers a listener for every change of the certificate. */
  onChange(listener: (keys: TlsKeys) => void): void;
  /**
   * Logs what is wrong with the certificate. Call it once the start can no longer fail, because a failing start reports
   * the reason on one line.
   */
  warn(): void;
  /** Returns the state of the certificate in use. */
  readStatus(): CertificateStatus;
  /** Reads the files again; `readStatus` shows the result. */
  reload(): void;
  close(): void;
}

export interface CertificateStatus {
  /** The path as configured; empty if there is none. */
  file: string;
  /** An authority issued the certificate to us, and renews it. */
  isIssued: boolean;
  /** Milliseconds since the epoch; both undefined for a self-signed certificate, which is replaced automatically. */
  startsAt: number | undefined;
  endsAt: number | undefined;
  /** The reason why the current files are not in use. */
  fault: string | undefined;
}

interface ServerTlsOptions {
  config: Config;
  dataDir: string;
  clock: Clock;
  log: Log;
}

/** The certificate issued by an authority, if one is configured. Files of the operator take precedence. */
export interface IssuedKeys {
  /** Undefined until a certificate has been issued. */
  current(): (TlsKeys & { startsAt: number; endsAt: number }) | undefined;
  onChange(listener: () => void): void;
}

/** Renewed certificates are not urgent: they come weeks before the old one expires. */
const LOOK_MS = 10_000;

export function openServerTls({ config, dataDir, clock, log }: ServerTlsOptions, issued?: IssuedKeys): ServerTls {
  const { certificate_file: file } = config.tls;
  const host = config.instance.host;
  const files = locateCertificateFiles(config, dataDir);
  const listeners = new Set<(keys: TlsKeys) => void>();
  let seen = files && readStamp(files);
  let inUse: Read = files
    ? readFiles(files)
    : (readIssued(issued) ?? selfSigned({ dataDir, host, addresses: listOwnAddresses(config), now: clock.now() }));
  let fault: string | undefined;

  function warn(): void {
    if (!files && !inUse.isIssued) {
      const then =
        config.acme.directory === '' ? 'name a real one as tls.certificate_file' : 'until the authority has issued one';
      log.warn({ host }, `the ports use a self-signed certificate; ${then}`);
    }
    warnOfEnd(inUse);
  }

  function warnOfEnd({ endsAt }: Read): void {
    if (endsAt === undefined || endsAt > clock.now()) return;
    log.warn({ file, endedAt: isoTime(endsAt) }, 'the certificate has expired; renew it');
  }

  function reload(): void {
    if (!files) return;
    seen = readStamp(files);
    try {
      const next = readFiles(files);
      fault = undefined;
      if (next.keys.cert === inUse.keys.cert && next.keys.key === inUse.keys.key) return;
      inUse = next;
    } catch (error) {
      if (!(error instanceof CertificateFault)) throw error;
      fault = error.message;
      log.error({ reason: fault }, 'the new certificate cannot be used; the previous one stays in use');
      return;
    }
    for (const listener of listeners) listener(inUse.keys);
    log.info({ file }, 'certificate reloaded');
    warnOfEnd(inUse);
  }

  if (!files) {
    issued?.onChange(() => {
      const next = readIssued(issued);
      if (!next) return;
      inUse = next;
      for (const listener of listeners) listener(next.keys);
      log.info({ host, endsAt: isoTime(next.endsAt ?? 0) }, 'a newly issued certificate is in use');
    });
  }

  const stop = files
    ? repeat(clock, LOOK_MS, async () => {
        if (readStamp(files) !== seen) reload();
      })
    : () => undefined;
  return {
    current: () => inUse.keys,
    onChange: (listener) => void listeners.add(listener),
    warn,
    readStatus: () => ({
      file,
      fault,
      isIssued: inUse.isIssued,
      startsAt: inUse.startsAt,
      endsAt: inUse.endsAt,
    }),
    reload,
    close: stop,
  };
}

/** Clients in development connect to an address, and some look for it in the certificate even if they trust it. */
const listOwnAddresses = ({ profile }: Config): string[] => (profile === 'development' ? ['127.0.0.1', '::1'] : []);

interface Read {
  keys: TlsKeys;
  startsAt: number | undefined;
  endsAt: number | undefined;
  isIssued: boolean;
}

const selfSigned = (wanted: Parameters<typeof keepSelfSigned>[0]): Read => ({
  keys: keepSelfSigned(wanted),
  isIssued: false,
  startsAt: undefined,
  endsAt: undefined,
});

function readIssued(issued: IssuedKeys | undefined): Read | undefined {
  const shown = issued?.current();
  if (!shown) return undefined;
  const { cert, key, startsAt, endsAt } = shown;
  return { keys: { cert, key }, startsAt, endsAt, isIssued: true };
}

/** Follows symbolic links, because renewals are installed by changing links. */
function readStamp({ cert, key }: Files): string {
  return [cert, key]
    .map((file) => {
      const stat = statSync(file, { throwIfNoEntry: false });
      return stat ? `${stat.ino} ${stat.size} ${stat.mtimeMs}` : 'none';
    })
    .join(' ');
}

/** Throws the first fault. */
function readFiles(files: Files): Read {
  const { keys, startsAt, endsAt, faults } = examineCertificate(files);
  if (keys) return { keys, startsAt, endsAt, isIssued: false };
  throw new CertificateFault(faults[0]?.text, { cause: faults[0]?.cause });
}

/** The certificate presented for one name. */
export type ShownContext = SecureContext;

/** Throws if certificate and key cannot be used. */
export const makeContext = ({ cert, key }: TlsKeys): ShownContext => createSecureContext({ cert, key });
