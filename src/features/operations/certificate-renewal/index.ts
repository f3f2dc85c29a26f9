/**
 * Certificates by ACME: orders what is wanted, proves the names, fetches what was issued, renews it in time, and shows it.
 * It promises that an order is never placed twice for one certificate, on however many nodes and through whatever crash,
 * once the authority was told to issue; and that what is shown stays until its successor is whole.
 */
export { answerToToken, contextForProof, createIssued, PROOF_PROTOCOL, type Issued } from './issued.ts';
export { askRenewalTimes, renewCertificates } from './renew-certificates.ts';
