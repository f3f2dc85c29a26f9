/**
 * Domains: the names a team may send from, the records it publishes and what DNS says of them. A name is verified for
 * one team at a time. Private keys are sealed in the database and opened only to sign.
 */
export { createDomain } from './create-domain.ts';
export { createVerifiedDomain } from './create-verified-domain.ts';
export { deleteDomain } from './delete-domain.ts';
export { getDomain, listDomains } from './read-domains.ts';
export { sweepDomains } from './sweep-domains.ts';
export { updateDomain } from './update-domain.ts';
export { verifyDomain } from './verify-domain.ts';
export {
  countDomains,
  dkimKeysOf,
  findDomain,
  findDomainByName,
  sendingNames,
  type DkimKeyRow,
  type DomainRow,
  type SendingName,
} from './domains.store.ts';
export { openDkimKey } from './dkim-key.ts';
