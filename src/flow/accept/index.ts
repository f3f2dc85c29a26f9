/**
 * Accept: the first stage. It checks that a team may send as it asks and writes the email, its queue rows and its first
 * event in one commit; the id is answered only after that commit is synced. It never touches the network.
 */
export { createAccept, type Accept, type SentBatch } from './accept-email.ts';
export type { BatchError } from './prepare-batch.ts';
export { hashRequest, type Idempotency } from './idempotency.ts';
export { deleteExpiredAnswers } from './idempotency.store.ts';
