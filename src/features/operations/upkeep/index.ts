/**
 * Upkeep: what has to go when its time is over, and what a process reports of itself. Each verb that removes does so in
 * small steps, may be interrupted anywhere, and never touches anything that is not sent yet.
 */
export { correctTimes, type TimesCorrected } from './correct-times.ts';
export { createNode, type Node } from './node.ts';
export { forgetIdempotencyKeys } from './forget-idempotency-keys.ts';
export { keepInboxes, type KeptInboxes } from './keep-inboxes.ts';
export { exportTraces } from './export-traces.ts';
export { hearOtherNodes } from './hear-nodes.ts';
export { createRemoval, type Removed } from './remove-expired.ts';
export { removeOldAudit } from './remove-old-audit.ts';
export { watchInstallation } from './gauges.ts';
export { createPatientCheck } from './patient-check.ts';
export { watchClock, type ClockWatch } from './watch-clock.ts';
export { watchDatabase } from './watch-database.ts';
export type { DatabaseWatch } from './database-watch.ts';
export { noteOpenFile } from './open-file-mark.ts';
export type { DamageWatch } from './watch-damage.ts';
export { createLogRemoval } from './remove-old-logs.ts';
export { createWebhookRemoval, type WebhooksRemoved } from './remove-old-webhook-events.ts';
export { removeOrphanBlobs, sweepBlobs, type BlobSweep } from './remove-orphan-blobs.ts';
