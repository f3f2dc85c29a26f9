import type { JobOutcome } from './delivery-job.ts';
import type { PooledSession } from './idle-sessions.ts';

/** A connection for one transaction, or why there is none. */
export type Lease = { kind: 'lease'; session: PooledSession } | JobOutcome;

export interface Waiter {
  tenant: string;
  settle: (lease: Lease) => void;
}

export const STOPPING: JobOutcome = {
  kind: 'deferred',
  reason: 'stopping',
  detail: 'The delivery was stopped before it began',
};

export function refuse(waiters: readonly Waiter[], outcome: JobOutcome): void {
  for (const waiter of waiters) waiter.settle(outcome);
}
