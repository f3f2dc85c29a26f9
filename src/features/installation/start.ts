/**
 * Certificates by ACME: orders what is wanted, proves the names, fetches what was issued, renews it in time, and shows it.
 * It promises that an order is never placed twice for one certificate, on however many nodes and through whatever crash,
 * once the authority was told to issue; and that what is shown stays until its successor is whole.
 */
export {
  PROOF_PROTOCOL,
  answerToToken,
  contextForProof,
  createIssued,
  type Issued,
} from './certificate-renewal/issued.ts';
export { askRenewalTimes, renewCertificates } from './certificate-renewal/renew-certificates.ts';

export { examinePort25 } from './doctor/checks/port25.ts';

/**
 * The examination of a machine: what other machines see of it, and what it has left. All checks are made at once and end within
 * `doctor.seconds`; what cannot be found out is `unknown`, and never a finding by itself. What has changed is told once, to
 * the log and to the command or URL of the settings.
 */
export { createDoctor, examineHere, type Doctor } from './doctor/doctor.ts';
export { tellNotices, tellOfLoss } from './doctor/tell-notices.ts';

/**
 * Upkeep: what has to go when its time is over, and what a process reports of itself. Each verb that removes does so in
 * small steps, may be interrupted anywhere, and never touches anything that is not sent yet.
 */
export { exportTraces } from './upkeep/export-traces.ts';
export { keepInboxes } from './upkeep/keep-inboxes.ts';
export { createNode, hearOtherNodes, type Node, watchInstallation } from './upkeep/node.ts';
export { createPatientCheck } from './upkeep/patient-check.ts';
export {
  createLogRemoval,
  createRemoval,
  createWebhookRemoval,
  forgetIdempotencyKeys,
  removeOldAudit,
} from './upkeep/remove-expired.ts';
export { removeOrphanBlobs, sweepBlobs } from './upkeep/remove-orphan-blobs.ts';
export { correctTimes, watchClock } from './upkeep/watch-clock.ts';
export { noteOpenFile, type DamageWatch, watchDatabase } from './upkeep/watch-database.ts';
