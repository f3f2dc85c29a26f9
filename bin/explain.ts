import { ConfigFault } from '../src/platform/config/index.ts';

/** A fault of whoever typed the command: one line, no stack. */
export class OperatorFault extends Error {}

/** One clear line for each thing that went wrong. A stack trace is for our own defects alone. */
export function explain(error: unknown): string[] {
  if (error instanceof ConfigFault) return [...error.faults];
  if (!(error instanceof Error)) return [String(error)];
  const { code, path, address, port } = error as NodeJS.ErrnoException & { address?: string; port?: number };
  switch (code) {
    case 'EADDRINUSE':
      return [`port ${port} on ${address} is in use; stop the other program or set RASKET_HTTP_PORT to another port`];
    case 'EADDRNOTAVAIL':
      return [`${address} is not an address of this machine; set RASKET_HTTP_HOST to one that is`];
    case 'EACCES':
      return [
        port === undefined
          ? `${path} may not be read or written by this user`
          : `port ${port} needs a privilege; choose one above 1023`,
      ];
    case 'ENOSPC':
    case 'SQLITE_FULL':
      return ['the disk is full; nothing that was accepted is lost. Free some space and start again'];
    case 'SQLITE_NOTADB':
    case 'SQLITE_CORRUPT':
      return [`the database file is damaged or no SQLite database (${error.message}); restore it from a backup`];
    case 'SQLITE_BUSY':
      return ['the database is locked by another program; stop it and start again'];
    case 'SQLITE_CANTOPEN':
    case 'SQLITE_READONLY':
      return ['the database file cannot be opened for writing by this user'];
    case 'ECONNREFUSED':
      return [`nothing listens at ${address}:${port}; is PostgreSQL running there?`];
    case '3D000':
    case '28P01':
    case '28000':
      return [`PostgreSQL refused the connection: ${error.message}`];
    default:
  }
  if (EXPECTED.has(error.name) || EXPECTED.has(error.constructor.name)) return [error.message];
  return (error.stack ?? error.message).split('\n');
}

const EXPECTED = new Set(['OperatorFault', 'DataFolderInUse', 'SchemaTooNew', 'Refusal', 'CliFault']);
