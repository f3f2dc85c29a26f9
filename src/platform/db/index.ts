/**
 * A small interface to the database: SQL text with `?` in, rows out, the same on SQLite and PostgreSQL. A transaction
 * is durable when its promise resolves. This package knows no tables.
 */
export { openDb, openReadOnly, type ReadOnlyDb } from './open-db.ts';
export { hasTable, migrate, mustNotBeApplied, schemaState, SchemaTooNew } from './migrate.ts';
export {
  createGroupCommit,
  type GroupCommit,
  type Lane,
  runInSavepoints,
  batchConcurrentCalls,
} from './group-commit.ts';
export {
  lockDataFolder,
  holdFile,
  DataFolderInUse,
  rewriteFile,
  DatabaseFileLost,
  putBack,
  rescuedCopy,
  rescueName,
} from './sqlite-file.ts';
export {
  overlaid,
  ping,
  underlyingDatabase,
  noteWrapper,
  type DatabaseFault,
  type Db,
  type Executor,
  type Hearing,
  type OpenDbOptions,
  type ServerNotice,
  type Row,
  type Dialect,
  type Value,
} from './db.ts';
export {
  openSnapshot,
  writeSnapshot,
  type Snapshot,
  openPgSnapshot,
  partsOfPgUrl,
  SnapshotInUse,
  type PgSnapshot,
} from './snapshot.ts';
export { TIMELINE_FILE } from './choose-server.ts';
export { openPgTurn, openPgPresence } from './pg-session.ts';
export { withoutCommitNotice } from './memo.ts';
export {
  isDatabaseDamage,
  isDatabaseGone,
  isDatabaseSetback,
  isLockTimeout,
  isUniqueViolation,
  missingTableIn,
} from './faults.ts';
export { checkDatabase, type DatabaseCheck } from './check-database.ts';
export { isFenced, lowerFence, raiseFence } from './write-fence.ts';
export {
  beginsWith,
  findsFew,
  cutPage,
  pageSql,
  pageValues,
  textsIn,
  uuidsIn,
  type Page,
  endOfUuid,
  mustBeAlone,
  rowsEnding,
  pageInBatches,
  prefixPage,
} from './lists.ts';
export {
  planCopy,
  tableShapes,
  UnknownTable,
  type CopiedTable,
  type TableShape,
  copyTable,
  countRows,
  emptyTables,
  RowFault,
  verifyTable,
  type CopyWatch,
  type TableCheck,
} from './copy-tables.ts';
export {
  databaseBytes,
  gatherStatistics,
  hasMoveSession,
  MOVE_SESSION,
  otherSessions,
  serverFacts,
  tableBytes,
  type DatabaseSession,
  type ServerFacts,
} from './database-facts.ts';
