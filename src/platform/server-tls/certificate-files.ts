import { createPrivateKey, X509Certificate, type KeyObject } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { createSecureContext } from 'node:tls';
import type { Config } from '../config/index.ts';
import type { TlsKeys } from './self-signed-file.ts';

/** Paths of the operator's files. */
export interface Files {
  cert: string;
  key: string;
}

/** One line about one file, and the setting that names it. */
export interface FileFault {
  setting: 'tls.certificate_file' | 'tls.key_file';
  text: string;
  cause: unknown;
}

export interface Examined {
  /** Undefined where a fault was found. */
  keys: TlsKeys | undefined;
  /** When the certificate begins and ends, in milliseconds; undefined where there is none. */
  startsAt: number | undefined;
  endsAt: number | undefined;
  faults: readonly FileFault[];
}

/** Undefined where no certificate is named. */
export function certificateFilesOf({ tls }: Config, dataDir: string): Files | undefined {
  const { certificate_file: cert, key_file: key } = tls;
  if (cert === '') return undefined;
  return { cert: path.resolve(dataDir, cert), key: path.resolve(dataDir, key === '' ? cert : key) };
}

/** Reads both files, and finds all that is wrong with them. */
export function examineCertificate(files: Files): Examined {
  const faults: FileFault[] = [];
  const about = (setting: FileFault['setting'], says: string) => ({ setting, says, faults });
  const [ofCert, ofKey] = [`${files.cert} (tls.certificate_file)`, `${files.key} (tls.key_file)`];
  const cert = readText('tls.certificate_file', files.cert, faults);
  // A key that stands in the file of the certificate is missed once.
  const key = files.key === files.cert ? cert : readText('tls.key_file', files.key, faults);
  const leaf = attempt(
    () => (cert === undefined ? undefined : new X509Certificate(cert)),
    about('tls.certificate_file', `${ofCert} holds no certificate in PEM; give the chain, our own certificate first`),
  );
  const privateKey = attempt<KeyObject | undefined>(
    () => (key === undefined ? undefined : createPrivateKey(key)),
    about('tls.key_file', `${ofKey} holds no private key in PEM without a passphrase`),
  );
  const [startsAt, endsAt] = [leaf?.validFromDate.getTime(), leaf?.validToDate.getTime()];
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

/** Why a file that a setting names cannot be read, in one line. */
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
