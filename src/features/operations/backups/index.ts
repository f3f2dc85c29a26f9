/**
 * Backups of the whole installation, as folders that a server can be started on. Each is whole under its name or not there, has a checksum of
 * every file, and is read again before it counts. It never removes one before a newer one was found whole. With PostgreSQL
 * the database in it is a dump, which `restoreBackup` writes into an empty one.
 */
export {
  type BackupFacts,
  type BackupReason,
  type Verification,
  backupsFolder,
  listBackups,
  type KeptBackup,
  explainDamaged,
  readFacts,
} from './backup-folder.ts';
export { beforeUpgrade, takeTurn, UpgradeRefused, type UpgradeWishes } from './before-upgrade.ts';
export { contentInOf, isVacant, makeBackup, filesOfSettings } from './make-backup.ts';
export { backUpOnSchedule, takeBackup, watchBackups } from './take-backup.ts';
export { whyNotDumped } from './database-copy.ts';
export { restoreBackup, RestoreRefused, type RestoreOrder } from './restore-backup.ts';
export { verifyBackup } from './verify-backup.ts';
