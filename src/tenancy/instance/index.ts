/**
 * What holds for the whole installation and is changed while it runs, by its operator. It promises that every process
 * on the database sees a change at its next question; it never belongs to a team and is not reached through the API.
 */
export {
  backupsTooOldSince,
  isDatedAhead,
  noteBackup,
  noteBackupFailure,
  readBackupNotes,
  type BackupNotes,
} from './backup-notes.ts';
export {
  bindInstallation,
  installationOf,
  mustBelongTogether,
  mustHaveDatabase,
  mustTakeAnyText,
  InstallationMismatch,
  leaveWitness,
  mustHaveBlobsHere,
  noteBlobsMove,
  readBlobsMove,
  type BlobsMove,
  sealAnew,
  type SealedAnew,
} from './installation.ts';
export { tryCommit } from './try-commit.ts';
export { isAway, settleHere, createCopyCheck, isUnconfirmedCopy, keptByCopies } from './restored-copy.ts';
export {
  DatabaseMoved,
  fenceMoved,
  forgetMove,
  installationHash,
  isLeaving,
  mustNotBeMoved,
  noteLeaving,
  noteMove,
  noteMoved,
  noteUnfinished,
  noteUse,
  readMove,
  MoveUnderWay,
  moveUnderWay,
  saysMoved,
  saysUnderWay,
  stayHere,
  type MoveMark,
} from './moves.ts';
export {
  createSendSwitch,
  sendSwitchMovedAt,
  setSending,
  switchOffRestored,
  type SendSwitch,
  type SendSwitchName,
} from './send-switch.ts';
