/**
 * Settings of the whole installation that its operator changes while it runs. Every process on the database sees a
 * change at its next query. The settings belong to no team and are not reached through the API.
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
  loadInstallationId,
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
export {
  beginHostChange,
  finishHostChange,
  readHostChange,
  readOwnHosts,
  type HostChange,
  type OwnHosts,
} from './host-change.ts';
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
