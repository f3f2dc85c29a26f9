/**
 * Certificates by ACME: orders the wanted certificates, proves the names, fetches what was issued, renews it in time,
 * and presents it. Once the authority was asked to issue, an order is never placed twice for one certificate, on any
 * number of nodes and through any crash. The current certificate stays in use until its successor is complete.
 */
export {
  PROOF_PROTOCOL,
  answerToToken,
  contextForProof,
  createIssued,
  type Issued,
} from './certificate-renewal/issued-names.ts';
export { askRenewalTimes, renewCertificates } from './certificate-renewal/renew-certificates.ts';

export { examinePort25 } from './doctor/checks/port25.ts';

/**
 * Examines a machine: how other machines see it, and what resources it has left. All checks run at once and end within
 * `doctor.seconds`; what cannot be determined is `unknown`, and never a finding by itself. Changes are reported once,
 * to the log and to the configured command or URL.
 */
export { createDoctor, examineHere, type Doctor } from './doctor/doctor.ts';
export { sendNotices, reportLoss } from './doctor/send-notices.ts';

/**
 * Upkeep: removes expired data, and reports the state of each process. Each removal works in small steps, may be
 * interrupted anywhere, and never touches anything that is not sent yet.
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
