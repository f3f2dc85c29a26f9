/**
 * The database behind one small seam: SQL text with `?` in, rows out, the same on SQLite and PostgreSQL.
 * It promises that a transaction is durable when its promise resolves. It knows no table.
 */
export { openDb } from './open-db.ts';
export { hasTable, migrate, mustNotBeApplied, schemaState, SchemaTooNew } from './migrate.ts';
export { createGroupCommit, type GroupCommit, type Lane } from './group-commit.ts';
export { eachAlone } from './each-alone.ts';
export { inCompany } from './in-company.ts';
export { lockDataFolder, holdFile, DataFolderInUse } from './data-folder-lock.ts';
export { overlaid } from './overlaid.ts';
export { ping } from './ping.ts';
export { openSnapshot, writeSnapshot, type Snapshot } from './snapshot.ts';
export { openPgTurn } from './pg-turn.ts';
export { openPgPresence } from './pg-presence.ts';
export { openPgSnapshot, partsOfPgUrl, SnapshotInUse, type PgSnapshot } from './pg-snapshot.ts';
export { rewriteFile } from './unused-pages.ts';
export { withoutCommitNotice } from './memo.ts';
export { isDatabaseDamage, isDatabaseGone, isDatabaseSetback, isLockTimeout, isUniqueViolation } from './faults.ts';
export { checkDatabase, type DatabaseCheck } from './check-database.ts';
export { DatabaseFileLost, putBack, rescuedCopy, rescueName } from './held-files.ts';
export { isFenced, lowerFence, raiseFence } from './write-fence.ts';
export { beginsWith, findsFew, pageOf, pageSql, pageValues, textsIn, uuidsIn, type Page } from './lists.ts';
export { endOfUuid, mustBeAlone, rowsEnding } from './rows-ending.ts';
export { pageInBatches } from './page-in-batches.ts';
export { prefixPage } from './prefix-page.ts';
export { openReadOnly, type ReadOnlyDb } from './read-only.ts';
export { planCopy, tableShapes, UnknownTable, type CopiedTable, type TableShape } from './table-shapes.ts';
export {
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
export { databaseBehind, noteWrapper } from './database-behind.ts';
export type { DatabaseFault, Db, Executor, Hearing, OpenDbOptions, Row, Dialect, Value } from './types.ts';
