/**
 * Upkeep: what has to go when its time is over, and what a process reports of itself. Each verb that removes does so in
 * small steps, may be interrupted anywhere, and never touches anything that is not sent yet.
 */
export { correctTimes, type TimesCorrected, watchClock, type ClockWatch } from './watch-clock.ts';
export { createNode, type Node, hearOtherNodes, watchInstallation } from './node.ts';
export {
  forgetIdempotencyKeys,
  createRemoval,
  type Removed,
  removeOldAudit,
  createLogRemoval,
  createWebhookRemoval,
  type WebhooksRemoved,
} from './remove-expired.ts';
export { keepInboxes, type KeptInboxes } from './keep-inboxes.ts';
export { exportTraces } from './export-traces.ts';
export { createPatientCheck } from './patient-check.ts';
export { watchDatabase, type DatabaseWatch, noteOpenFile, type DamageWatch } from './watch-database.ts';
export { removeOrphanBlobs, sweepBlobs, type BlobSweep } from './remove-orphan-blobs.ts';
