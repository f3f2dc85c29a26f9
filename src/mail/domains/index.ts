/**
 * Domains: the names a team may send from, the records it publishes and their last DNS results, which `mail/domain-dns`
 * looks up. A name belongs to one team at a time. Private keys are sealed in the database and opened only to sign.
 */
export { changeDomain, planChange, recordsAdded, renewRecords, deleteDomain, deleteOfDomain } from './change-domain.ts';
export {
  createVerifiedDomain,
  type DomainPatch,
  type NewDomain,
  mustBeAddable,
  planFull,
  readDomainName,
  registerDomain,
  addDomain,
  type MadeDomain,
} from './register-domain.ts';
export {
  findLinkOrigin,
  findTracked,
  readTracked,
  type Tracked,
  findSendingDomain,
  findUnsubscribeAddress,
  makeSendingDomain,
  mayBeMade,
  listDomains,
  takesMailHere,
} from './find-domains.ts';
export {
  findCheck,
  type Found,
  type RecordCheck,
  openDkimKey,
  SEALED_DKIM_KEYS,
  expectedRecords,
  readCurrentRecords,
  valueWithHost,
  reportAddress,
  unsubscribeAddress,
} from './domain-records.ts';
export { regenerateDkim, beginRotation, isRotationDue, rotateDkim, mustWaitItsTurn } from './dkim-rotation.ts';
export { listHostRecords, type HostRecord } from './host-records.ts';
export { nameTaken, saveChecks } from './save-checks.ts';
export { isDnsAsked, isVerifiedWithoutDns, maySend, recordStatusAfter } from './domain-state.ts';
export {
  listSigningKeys,
  listDkimKeys,
  countDomains,
  domainsToSweep,
  findDomain,
  listSendableDomains,
  findDomainByName,
  listDomainIdsNamed,
  listDomainNames,
  listDomainsBelow,
  loadDomainNames,
  lockDomain,
  isOwnedElsewhere,
  noteChecked,
  noticeDomain,
  receivingDomain,
  receivingNames,
  returnPathOwner,
  sendingNames,
  type SendingName,
  isTrackingHostOfOthers,
  trackingHosts,
  trackingOwner,
  trackingOwnerAlone,
  type TrackingOwner,
  findOwner,
  lockOwner,
  listedRecords,
  recordsToCheck,
} from './domains.store.ts';
export type { DkimKeyRow, DomainRow, DomainStatus, RecordKind, RecordRow, RecordStatus } from './domain-rows.ts';
export { composeClaimantCopy, composeSwitchedOff, switchOff, takeName, type SwitchedOff } from './transfer-domain.ts';
export { presentDomain, presentWithdrawal } from './present.ts';
export { findServedPolicy, policyHostTarget, policyMx, recordsOfAbsent, withdrawnUntil } from './mta-sts.ts';
export { countEnforcing, forgetWithdrawals, listEnforcing, policyHosts } from './mta-sts.store.ts';
