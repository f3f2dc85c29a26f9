/**
 * PostgreSQL's own programs for backups, run without a shell. A password reaches them by their environment, never by their arguments,
 * which every user of the machine can read.
 */
export { pgEnvironment } from './environment.ts';
export { readDump, type DumpReader, type DumpToRead } from './read-dump.ts';
export { dumpDatabase, dumpVersion, PgProgramFault, restoreDump, type DumpOrder } from './run-program.ts';
