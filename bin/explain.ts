import os from 'node:os';
import { findHolders } from '../src/platform/listeners.ts';
import { EXIT, type Ending } from '../cli/output/command-process.ts';

/** A mistake in the typed command: printed as one line, without a stack. */
export class OperatorFault extends Error {
  override readonly name = 'OperatorFault';
  readonly exitCode: number;

  constructor(message: string, ending: Ending = 'failed') {
    super(message);
    this.exitCode = EXIT[ending];
  }
}

/** The backup that was checked is not complete. */
export class BackupNotWhole extends Error {
  override readonly name = 'BackupNotWhole';
  readonly faults: readonly string[];

  constructor(folder: string, faults: readonly string[]) {
    super(`${folder} is not whole`);
    this.faults = [`${folder} is not whole:`, ...faults];
  }
}

export function toExitCode(error: unknown): number {
  if (error instanceof OperatorFault) return error.exitCode;
  if (error instanceof Error && error.name === 'MoveUnderWay') return EXIT.limit;
  if (error instanceof Error && error.name === 'Refusal') return exitCodeOfRefusal(error);
  // The unit does not try that again: it takes a person.
  return error instanceof Error && ['UpgradeRefused', 'DatabaseFileLost', 'DatabaseMoved'].includes(error.name)
    ? EXIT.refused
    : EXIT.failed;
}

/** The same exit codes as for commands that use the API. A temporary failure is not the caller's fault. */
function exitCodeOfRefusal({ status = 500 }: Error & { status?: number }): number {
  if (status >= 500) return EXIT.failed;
  return status === 404 ? EXIT.notFound : EXIT.refused;
}

interface SystemFault extends Error {
  code?: string;
  syscall?: string;
  path?: string;
  address?: string;
  port?: number;
  hostname?: string;
  errors?: unknown[];
  /** The setting that names the port. */
  setting?: string;
  /** Set on a ConfigFault and a BackupNotWhole: one line for each thing to correct. */
  faults?: readonly string[];
}

/** Returns one clear line for each thing that went wrong. A stack trace is only for our own defects. */
export function explain(error: unknown): string[] {
  if (!(error instanceof Error)) return [String(error)];
  const fault: SystemFault = error;
  if (['ConfigFault', 'BackupNotWhole'].includes(fault.name) && fault.faults) return [...fault.faults];
  if (EXPECTED.has(error.name)) return [error.message];
  const line = explainSocket(fault) ?? explainSystem(fault) ?? explainLogin(fault) ?? explainDatabase(fault);
  return line === undefined ? (error.stack ?? error.message).split('\n') : [line];
}

const EXPECTED = new Set([
  'OperatorFault',
  'AddonFault',
  'CertificateFault',
  'DataFolderInUse',
  'DatabaseFileLost',
  'DatabaseMoved',
  'InstallationMismatch',
  'InstanceKeyFault',
  'NoPrimary',
  'SchemaIncomplete',
  'SchemaTooNew',
  'MoveRefused',
  'MoveUnderWay',
  'RowFault',
  'UnfitDatabase',
  'UnknownTable',
  'UpgradeRefused',
  'BackupFault',
  'PgProgramFault',
  'RestoreRefused',
  'SnapshotInUse',
  'ObjectStoreFault',
  'Refusal',
]);

/** A server of ours connects to no other socket that is a file. */
function explainSocket({ code = '', syscall, address, port }: SystemFault): string | undefined {
  if (syscall !== 'connect' || address === undefined || port !== undefined) return undefined;
  if (code === 'EACCES' || code === 'EPERM') return `this user may not connect to PostgreSQL at ${address} (${code})`;
  return `PostgreSQL cannot be reached at ${address} (${code}); is it running there?`;
}

function explainSystem(fault: SystemFault): string | undefined {
  const { code = '', syscall, path, address, port, hostname, setting = 'http.port' } = fault;
  switch (code) {
    case 'EADDRINUSE':
      return `port ${port} on ${address} is in use by ${findHolders(port ?? 0)}; stop it, or set ${setting} (${toVariable(setting)}) to another`;
    case 'EADDRNOTAVAIL':
      return `${address} is not an address of this machine; set RASKET_HTTP_HOST, or the host under [https], to one that is`;
    case 'EACCES':
    case 'EPERM':
      return port === undefined
        ? `${path} cannot be read or written by ${account()}; check the owner and mode of it and of the folders above it`
        : `port ${port} requires a privilege; set ${setting} (${toVariable(setting)}) to one above 1023`;
    case 'EROFS':
      return `${path} is on a read-only file system; choose another folder with --data, or mount it for writing`;
    case 'ELOOP':
      return `${path} leads through a loop of symbolic links; ${path?.endsWith('/instance.key') ? 'put the key in its place, from a backup or another node' : 'put a folder or a link to one in its place'}`;
    case 'ENOTDIR':
    case 'EEXIST':
      return `${path} cannot be created as a folder, because it or a folder above it is a file; choose another one with --data`;
    case 'ENOENT':
      return path === undefined && syscall === 'uv_cwd'
        ? 'the current folder was removed; change to another one'
        : `${path} cannot be found or created; choose another path`;
    case 'ENOSPC':
    case 'EDQUOT':
    case 'EFBIG':
    case 'SQLITE_FULL':
      return 'the disk is full; no accepted mail is lost. Free some space and start again';
    case 'EMFILE':
    case 'ENFILE':
      return 'too many files are open; raise the limit (ulimit -n) and start again';
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `the name ${hostname} has no address; correct it in the configuration`;
    default:
      return undefined;
  }
}

const toVariable = (setting: string): string => `RASKET_${setting.replace('.', '_').toUpperCase()}`;

/** When run by root, a command works as the account that owns the data folder. */
function account(): string {
  try {
    return `the account ${os.userInfo().username}`;
  } catch {
    return `the account with the id ${process.getuid?.()}`;
  }
}

/**
 * Advice for a pooler that lends one connection to several clients, with the statements that others have prepared on
 * it.
 */
const POOLER =
  'a connection pooler does not support prepared statements; upgrade PgBouncer to 1.21 or later with max_prepared_statements above 0, use session pooling, or point database.url to PostgreSQL itself';

/** Advice by PostgreSQL error code. */
const ADVICE: Readonly<Record<string, string>> = {
  '3D000': 'create it with createdb, or correct the URL of the database',
  '28P01': 'correct the password in the URL of the database or on the server',
  '28000':
    'correct the user in the URL of the database, or allow it in pg_hba.conf of the server (peer only accepts the system user of the same name)',
  '42501': 'make this user the owner of the database: alter database … owner to …',
  '53300': 'raise max_connections of the server, or lower database.pool_max',
  '57P03': 'it is starting or stopping; try again',
  '42P05': POOLER,
  '26000': POOLER,
};

/** OpenSSL's error codes for a certificate that no known authority has signed. */
const UNKNOWN_AUTHORITY = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

/** Explains the errors of `pg` before a login to PostgreSQL. These commands use TLS only for PostgreSQL. */
function explainLogin({ code = '', message }: SystemFault): string | undefined {
  if (/password must be a (non-empty )?string|empty password returned by client/.test(message))
    return 'PostgreSQL requires a password, but none was given; put it into the URL of the database (postgres://user:password@host/database), or into PGPASSWORD';
  if (message === 'The server does not support SSL connections')
    return 'PostgreSQL offers no TLS; enable it on the server (ssl = on), or remove sslmode from the URL of the database';
  if (UNKNOWN_AUTHORITY.has(code))
    return `the certificate of PostgreSQL is not signed by an authority that Node.js trusts (${code}); give the certificate file of its authority in the URL of the database: sslmode=verify-full&sslrootcert=/path/to/ca.pem`;
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return `the certificate of PostgreSQL is for another name (${message}); use the name in the certificate in the URL of the database`;
  if (code === 'CERT_HAS_EXPIRED')
    return 'the certificate of PostgreSQL has expired; renew it on the server, or correct the clock of this machine';
  return undefined;
}

function explainDatabase({ code = '', name, message, address, port, path }: SystemFault): string | undefined {
  const file = `the database file${path === undefined ? '' : ` ${path}`}`;
  switch (code) {
    case 'SQLITE_NOTADB':
    case 'SQLITE_CORRUPT':
      return `${file} is damaged or not an SQLite database (${message}); restore it from a backup`;
    case 'SQLITE_BUSY':
    case 'SQLITE_LOCKED':
      return 'the database is locked by another program; stop it and start again';
    case 'SQLITE_CANTOPEN':
    case 'SQLITE_READONLY':
    case 'SQLITE_PERM':
      return `${file} cannot be opened for writing by ${account()}; check its owner, its mode and the folder that contains it`;
    case 'ECONNREFUSED':
    case 'ECONNRESET':
    case 'ETIMEDOUT':
      return `PostgreSQL cannot be reached${address === undefined ? '' : ` at ${address}:${port}`} (${code}); is it running there?`;
    // A fence refused a start in the middle of a move; the next start waits until the move has ended.
    case 'MOVED':
      return `PostgreSQL refused: ${message}`;
    default:
      if (ADVICE[code] !== undefined) return `PostgreSQL refused: ${message}; ${ADVICE[code]}`;
  }
  // Both the statement and the schema are ours. The migrations that made it are recorded, so something has undone one
  // of them.
  const missing = /^no such (?:table|column): \S+|(?:relation|column) \S+ does not exist/.exec(message)?.[0];
  if (missing !== undefined)
    return `the database lacks tables or columns of its migrations (${missing}); restore it from a backup`;
  // Extended codes name the place of the error (SQLITE_IOERR_WRITE, SQLITE_CORRUPT_INDEX), which helps nobody here.
  if (code.startsWith('SQLITE_IOERR')) {
    return `${file} cannot be read or written (${code}); check the disk for free space, file size limits and errors. No accepted mail is lost`;
  }
  const plain = /^SQLITE_[A-Z]+/.exec(code)?.[0];
  if (plain !== undefined && plain !== code) {
    return explainDatabase({ name, message, code: plain, ...(path === undefined ? {} : { path }) });
  }
  if (message.startsWith('Connection terminated'))
    return `PostgreSQL ended the connection (${message}); is it running and reachable?`;
  if (name === 'KnexTimeoutError') return 'the database did not answer in time; is it running and reachable?';
  return undefined;
}
