/**
 * Domains: the names a team may send from, the records it publishes and what DNS last said of them, which flow asks. A
 * name is one team's at a time. Private keys are sealed in the database and opened only to sign.
 */
export { changeDomain, planChange, recordsAdded, renewRecords } from './change-domain.ts';
export { createVerifiedDomain } from './create-verified-domain.ts';
export { findSendingDomain, makeSendingDomain, mayBeMade } from './find-sending-domain.ts';
export { deleteDomain } from './delete-domain.ts';
export { listDomains } from './list-domains.ts';
export type { DomainPatch, NewDomain } from './new-domain.ts';
export { checkOf, type Found, type RecordCheck } from './record-check.ts';
export { regenerateDkim } from './regenerate-dkim.ts';
export { mustBeAddable, planFull, readDomainName, registerDomain } from './register-domain.ts';
export { beginRotation, isRotationDue, rotateDkim } from './rotate-dkim.ts';
export { nameTaken, saveChecks } from './save-checks.ts';
export { mustWaitItsTurn } from './once-a-minute.ts';
export { isDnsAsked, isVerifiedWithoutDns, maySend } from './capabilities.ts';
export { addDomain, type MadeDomain } from './compose-domain.ts';
export { openDkimKey, SEALED_DKIM_KEYS } from './dkim-key.ts';
export { dkimKeysOf, keysOf } from './dkim-keys.store.ts';
export type { DkimKeyRow, DomainRow, DomainStatus, RecordKind, RecordRow, RecordStatus } from './domain-rows.ts';
export {
  countDomains,
  domainsToSweep,
  findDomain,
  listSendableDomains,
  findDomainByName,
  lockDomain,
  isOwnedElsewhere,
  noteChecked,
  noticeDomain,
  receivingDomain,
  receivingNames,
  returnPathOwner,
  sendingNames,
  type SendingName,
} from './domains.store.ts';
export { recordStatusAfter } from './domain-state.ts';
export { expectedRecords } from './expected-records.ts';
export {
  isTrackingHostOfOthers,
  trackingHosts,
  trackingOwner,
  trackingOwnerAlone,
  type TrackingOwner,
} from './tracking-owner.store.ts';
export { composeClaimantCopy, composeSwitchedOff, switchOff, takeName, type SwitchedOff } from './transfer-domain.ts';
export { findOwner, lockOwner } from './transfer-domain.store.ts';
export { takesMailHere } from './takes-mail-here.ts';
export { presentDomain } from './present.ts';
export { recordsOf, recordsToCheck } from './records.store.ts';
