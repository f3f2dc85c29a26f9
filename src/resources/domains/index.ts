/**
 * Domains: the names a team may send from, the records it publishes and what DNS says of them. A name is
 * one team's at a time. Private keys are sealed in the database and opened only to sign.
 */
export { createDomain, mustFitDns, planFull, readDomainName } from './create-domain.ts';
export { createVerifiedDomain } from './create-verified-domain.ts';
export { deleteDomain } from './delete-domain.ts';
export { getDomain, listDomains } from './read-domains.ts';
export { regenerateDkim, replaceKeys } from './regenerate-dkim.ts';
export { rotateDkim } from './rotate-dkim.ts';
export { sweepDomains } from './sweep-domains.ts';
export { updateDomain } from './update-domain.ts';
export { verifyDomain } from './verify-domain.ts';
export { mustWaitItsTurn } from './ask-once.ts';
export { maySend } from './capabilities.ts';
export { addDomain, composeDomain, type MadeDomain } from './compose-domain.ts';
export { newDkimKeys, openDkimKey } from './dkim-key.ts';
export { dkimKeysOf, keysOf } from './dkim-keys.store.ts';
export type { DkimKeyRow, DomainRow, DomainStatus, RecordKind, RecordRow, RecordStatus } from './domain-rows.ts';
export {
  countDomains,
  findDomain,
  findDomainByName,
  holdDomain,
  holdPlanOf,
  isHeldElsewhere,
  sendingNames,
  type SendingName,
} from './domains.store.ts';
export { expectedRecords } from './expected-records.ts';
export {
  checkDomain,
  composeClaimantCopy,
  composeSwitchedOff,
  switchOff,
  takeName,
  type SwitchedOff,
} from './hand-over.ts';
export { findHolder, holdHolder } from './hand-over.store.ts';
export { presentDomain, presentDomainEvent } from './present.ts';
export { recordsOf } from './records.store.ts';
