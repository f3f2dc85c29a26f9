/**
 * Backups of the whole installation, as folders that a server can be started on. Each is whole under its name or not there, has a checksum of
 * every file, and is read again before it counts. It never removes one before a newer one was found whole. With PostgreSQL
 * the database in it is a dump, which `restoreBackup` writes into an empty one.
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
export { contentInOf, filesOfSettings, isVacant, makeBackup } from './backups/make-backup.ts';
export { restoreBackup } from './backups/restore-backup.ts';
export { backUpOnSchedule, watchBackups } from './backups/take-backup.ts';
export { verifyBackup } from './backups/verify-backup.ts';

/**
 * Certificates from an authority: which there are to be, the keys and orders behind them, and what is shown until the next
 * one is there. Keys are sealed at rest; a certificate itself is public, and stands as it is. Asking the authority is the
 * work of features/installation/certificate-renewal.
 */
export { SEALED_CERTIFICATE_KEYS, asksForCertificates, listCertificates } from './certificates/certificates.ts';

/**
 * Findings: what is wrong at this moment, and what to do about it. They are read anew at each question and never stored, but
 * for what a process knows of itself alone: it reports that to all others through the database. A look costs the same
 * however much mail, and however many webhooks and domains, there are beside those in trouble.
 */
export { certificateFindings, relayFindings } from './findings/installation-findings.ts';
export { lookAtInstallation, presentForOperator, type Look } from './findings/look.ts';
export { liveNodes } from './findings/node-report.ts';
export { forgetWaitingNotices } from './findings/notices.ts';
export { refusalFindings } from './findings/refusal-findings.ts';

/**
 * Moves an installation to another database: every row is copied, compared and hashed, the service stands still meanwhile. It promises
 * that at no moment both databases can be started on, and that whatever is interrupted is made anew, never taken for whole.
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
