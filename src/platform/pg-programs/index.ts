/**
 * PostgreSQL's own programs for backups, run without a shell. A password reaches them by their environment, never by their arguments,
 * which every user of the machine can read.
 */
export {
  pgEnvironment,
  readDump,
  type DumpReader,
  type DumpToRead,
  dumpDatabase,
  dumpVersion,
  PgProgramFault,
  restoreDump,
  type DumpOrder,
} from './pg-programs.ts';
