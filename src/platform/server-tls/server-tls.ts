import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { createSecureContext } from 'node:tls';
import { isoTime, repeat, type Clock } from '../clock/index.ts';
import type { Config } from '../config/index.ts';
import type { Log } from '../log/index.ts';
import { keepSelfSigned, type TlsKeys } from './self-signed-file.ts';

/** A certificate that cannot be used: one line that says which file, why, and what to do. */
export class CertificateFault extends Error {
  override name = 'CertificateFault';
}

export interface ServerTls {
  /** What new connections are shown. */
  current(): TlsKeys;
  /** Told whenever there is another one. */
  onChange(listener: (keys: TlsKeys) => void): void;
  /** Reads the files again; the answer says what came of it. */
  reload(): void;
  close(): void;
}

export interface ServerTlsOptions {
  config: Config;
  dataDir: string;
  clock: Clock;
  log: Log;
}

/** Renewed certificates are not urgent: they come weeks before the old one ends. */
const LOOK_MS = 10_000;

export function openServerTls({ config, dataDir, clock, log }: ServerTlsOptions): ServerTls {
  const { certificate_file: certFile, key_file: keyFile } = config.tls;
  const host = config.instance.host;
  const files = certFile === '' ? undefined : filesOf(dataDir, certFile, keyFile);
  const listeners = new Set<(keys: TlsKeys) => void>();
  let seen = files && stampOf(files);
  let keys = files ? readFiles(files) : keepSelfSigned({ dataDir, host, now: clock.now() });
  if (!files)
    log.warn({ host }, 'the SMTP ports show a self-signed certificate; name a real one as tls.certificate_file');
  else warnOfEnd(keys);

  function warnOfEnd({ cert }: TlsKeys): void {
    const { validToDate } = new X509Certificate(cert);
    if (validToDate.getTime() > clock.now()) return;
    log.warn({ file: certFile, endedAt: isoTime(validToDate.getTime()) }, 'the certificate has expired; renew it');
  }

  function reload(): void {
    if (!files) return;
    seen = stampOf(files);
    try {
      const next = readFiles(files);
      if (next.cert === keys.cert && next.key === keys.key) return;
      keys = next;
    } catch (error) {
      if (!(error instanceof CertificateFault)) throw error;
      log.error({ reason: error.message }, 'the new certificate cannot be used; the one before stays');
      return;
    }
    for (const listener of listeners) listener(keys);
    log.info({ file: certFile }, 'certificate read again');
    warnOfEnd(keys);
  }

  const stop = files
    ? repeat(clock, LOOK_MS, async () => {
        if (stampOf(files) !== seen) reload();
      })
    : () => undefined;
  return { current: () => keys, onChange: (listener) => void listeners.add(listener), reload, close: stop };
}

interface Files {
  cert: string;
  key: string;
}

const filesOf = (dataDir: string, cert: string, key: string): Files => ({
  cert: path.resolve(dataDir, cert),
  key: path.resolve(dataDir, key === '' ? cert : key),
});

/** Follows symbolic links, which is how renewals are put in place. */
function stampOf({ cert, key }: Files): string {
  return [cert, key]
    .map((file) => {
      const stat = statSync(file, { throwIfNoEntry: false });
      return stat ? `${stat.ino} ${stat.size} ${stat.mtimeMs}` : 'none';
    })
    .join(' ');
}

function readFiles(files: Files): TlsKeys {
  const cert = readText('tls.certificate_file', files.cert);
  const key = readText('tls.key_file', files.key);
  const leaf = attempt(
    () => new X509Certificate(cert),
    `${files.cert} (tls.certificate_file) holds no certificate in PEM; give the chain, our own certificate first`,
  );
  const privateKey = attempt(
    () => createPrivateKey(key),
    `${files.key} (tls.key_file) holds no private key in PEM without a passphrase`,
  );
  if (!leaf.checkPrivateKey(privateKey)) {
    throw new CertificateFault(
      `${files.key} (tls.key_file) is not the key of the first certificate in ${files.cert}; our own stands first, those that signed it behind it`,
    );
  }
  attempt(() => createSecureContext({ cert, key }), `${files.cert} (tls.certificate_file) cannot be used for TLS`);
  return { cert, key };
}

function readText(setting: string, file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    throw new CertificateFault(`${file} (${setting}) cannot be read (${code}); ${ADVICE[code] ?? 'look at the file'}`, {
      cause: error,
    });
  }
}

const ADVICE: Record<string, string> = {
  ENOENT: 'there is no such file; paths are relative to the data folder',
  EACCES: 'let the account that rasket runs as read it',
  EISDIR: 'it is a folder; name the file in it',
};

function attempt<T>(work: () => T, fault: string): T {
  try {
    return work();
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new CertificateFault(`${fault} (${why})`, { cause: error });
  }
}
