import { statSync } from 'node:fs';
import { isoTime, repeat, type Clock } from '../clock/index.ts';
import type { Config } from '../config/index.ts';
import type { Log } from '../log/index.ts';
import { certificateFilesOf, examineCertificate, type Files } from './certificate-files.ts';
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
  /** Says in the log what is wrong with it; for when nothing can fail any more, as a start that fails says why in one line. */
  warn(): void;
  /** How it stands with what is shown. */
  standing(): CertificateStanding;
  /** Reads the files again; the answer says what came of it. */
  reload(): void;
  close(): void;
}

export interface CertificateStanding {
  /** As the setting names it; empty where none is named. */
  file: string;
  /** Whether an authority issued it to us, and renews it. */
  isIssued: boolean;
  /** In milliseconds; both undefined for a self-signed one, which is replaced by itself. */
  startsAt: number | undefined;
  endsAt: number | undefined;
  /** Why the files as they are now are not in use. */
  fault: string | undefined;
}

export interface ServerTlsOptions {
  config: Config;
  dataDir: string;
  clock: Clock;
  log: Log;
}

/** What an authority issued, where one is asked. Files of the operator's are shown instead of it. */
export interface IssuedKeys {
  /** Undefined until there is one. */
  current(): (TlsKeys & { startsAt: number; endsAt: number }) | undefined;
  onChange(listener: () => void): void;
}

/** Renewed certificates are not urgent: they come weeks before the old one ends. */
const LOOK_MS = 10_000;

export function openServerTls({ config, dataDir, clock, log }: ServerTlsOptions, issued?: IssuedKeys): ServerTls {
  const { certificate_file: file } = config.tls;
  const host = config.instance.host;
  const files = certificateFilesOf(config, dataDir);
  const listeners = new Set<(keys: TlsKeys) => void>();
  let seen = files && stampOf(files);
  let inUse: Read = files
    ? readFiles(files)
    : (readIssued(issued) ?? selfSigned({ dataDir, host, addresses: listOwnAddresses(config), now: clock.now() }));
  let fault: string | undefined;

  function warn(): void {
    if (!files && !inUse.isIssued) {
      const then =
        config.acme.directory === '' ? 'name a real one as tls.certificate_file' : 'until the authority has issued one';
      log.warn({ host }, `the ports show a self-signed certificate; ${then}`);
    }
    warnOfEnd(inUse);
  }

  function warnOfEnd({ endsAt }: Read): void {
    if (endsAt === undefined || endsAt > clock.now()) return;
    log.warn({ file, endedAt: isoTime(endsAt) }, 'the certificate has expired; renew it');
  }

  function reload(): void {
    if (!files) return;
    seen = stampOf(files);
    try {
      const next = readFiles(files);
      fault = undefined;
      if (next.keys.cert === inUse.keys.cert && next.keys.key === inUse.keys.key) return;
      inUse = next;
    } catch (error) {
      if (!(error instanceof CertificateFault)) throw error;
      fault = error.message;
      log.error({ reason: fault }, 'the new certificate cannot be used; the one before stays');
      return;
    }
    for (const listener of listeners) listener(inUse.keys);
    log.info({ file }, 'certificate read again');
    warnOfEnd(inUse);
  }

  if (!files) {
    issued?.onChange(() => {
      const next = readIssued(issued);
      if (!next) return;
      inUse = next;
      for (const listener of listeners) listener(next.keys);
      log.info({ host, endsAt: isoTime(next.endsAt ?? 0) }, 'a certificate that was issued is shown');
    });
  }

  const stop = files
    ? repeat(clock, LOOK_MS, async () => {
        if (stampOf(files) !== seen) reload();
      })
    : () => undefined;
  return {
    current: () => inUse.keys,
    onChange: (listener) => void listeners.add(listener),
    warn,
    standing: () => ({
      ...{ file, fault, isIssued: inUse.isIssued },
      ...{ startsAt: inUse.startsAt, endsAt: inUse.endsAt },
    }),
    reload,
    close: stop,
  };
}

/** Clients in development name an address, and some look for it in the certificate whatever they are told of trust. */
const listOwnAddresses = ({ profile }: Config): string[] => (profile === 'development' ? ['127.0.0.1', '::1'] : []);

interface Read {
  keys: TlsKeys;
  startsAt: number | undefined;
  endsAt: number | undefined;
  isIssued: boolean;
}

const selfSigned = (wanted: Parameters<typeof keepSelfSigned>[0]): Read => ({
  ...{ keys: keepSelfSigned(wanted), isIssued: false },
  ...{ startsAt: undefined, endsAt: undefined },
});

function readIssued(issued: IssuedKeys | undefined): Read | undefined {
  const shown = issued?.current();
  if (!shown) return undefined;
  const { cert, key, startsAt, endsAt } = shown;
  return { keys: { cert, key }, startsAt, endsAt, isIssued: true };
}

/** Follows symbolic links, which is how renewals are put in place. */
function stampOf({ cert, key }: Files): string {
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
