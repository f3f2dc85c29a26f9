/**
 * Backups of the whole installation, as folders that a server can be started on. Each one exists under its name only
 * when complete, has a checksum of every file, and is read again before it counts. An older one is removed only after a
 * newer one was verified. With PostgreSQL the database is a dump, which `restoreBackup` loads into an empty database.
 */
export {
  backupsFolder,
  explainDamaged,
  listBackups,
  readFacts,
  type BackupFacts,
  type KeptBackup,
  type Verification,
} from './backups/backup-folder.ts';
export type { UpgradeWishes } from './backups/before-upgrade.ts';
export { locateContent, filesOfSettings, isVacant, makeBackup } from './backups/make-backup.ts';
export { restoreBackup } from './backups/restore-backup.ts';
export { backUpOnSchedule, watchBackups } from './backups/take-backup.ts';
export { verifyBackup } from './backups/verify-backup.ts';

/**
 * Certificates from an authority: which ones are wanted, their keys and orders, and which one is used until the next is
 * issued. Keys are sealed at rest; certificates are public and stored in plain.
 * features/installation/certificate-renewal makes the requests to the authority.
 */
export { SEALED_CERTIFICATE_KEYS, asksForCertificates, listCertificates } from './certificates/certificates.ts';

/**
 * Findings: current problems, and how to fix them. They are computed at each request and never stored, except for those
 * that only one process can see: it reports them to the others through the database. The cost of a request depends only
 * on the number of webhooks and domains in trouble, not on the amount of mail or on the number of others.
 */
export { certificateFindings, relayFindings } from './findings/installation-findings.ts';
export { loadFindingsReport, presentForOperator, type FindingsReport } from './findings/findings-report.ts';
export { liveNodes } from './findings/node-report.ts';
export { forgetWaitingNotices } from './findings/notices.ts';
export { refusalFindings } from './findings/refusal-findings.ts';

/**
 * Moves an installation to another database: every row is copied, compared and hashed while the service is stopped.
 * Guarantees that the two databases can never both be started on, and that an interrupted move starts over and is never
 * taken for complete.
 */
export {
  moveDatabase,
  planMove,
  type MoveOrder,
  type MovePhase,
  type MovePlan,
  type MoveWatch,
  type Moved,
  undoMove,
} from './moves/move-database.ts';
export { MoveDone, megabytes, type MoveEnd } from './moves/move-ends.ts';
export { keysInRows, namedContents } from './moves/named-contents.store.ts';
export { beforeUpgrade, takeTurn } from './backups/before-upgrade.ts';
