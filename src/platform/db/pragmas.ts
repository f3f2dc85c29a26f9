/**
 * Said before anything is written to a new file, it makes it possible to give space back later; on an older file it waits
 * for a VACUUM. To say it to a file that has pages is a write, and opening a file must not be one.
 */
export const NEW_FILE_PRAGMA = 'auto_vacuum = INCREMENTAL';

/**
 * FULL syncs the log at every commit: an answer may not promise what a power cut would take back. The log is kept short
 * enough that a checkpoint stays a few milliseconds.
 */
export const SQLITE_PRAGMAS = [
  'journal_mode = WAL',
  'synchronous = FULL',
  'busy_timeout = 5000',
  'foreign_keys = ON',
  'cache_size = -12000',
  'temp_store = MEMORY',
  'wal_autocheckpoint = 1000',
  'journal_size_limit = 67108864',
] as const;
