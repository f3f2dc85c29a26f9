import type { RecipientOutcome } from '../deliver/index.ts';

/** How a delivery ended for one recipient: what the mail server answered, or why none was asked. */
export type Outcome =
  | Exclude<RecipientOutcome, { kind: 'suppressed' }>
  /** `origin` is why the address is on the list, or that its contact left; the simulator's has none. */
  | { kind: 'suppressed'; address: string; origin?: 'bounce' | 'complaint' | 'manual' | 'opt_out' }
  | {
      kind: 'failed';
      address: string;
      reason: 'ambiguous_submission' | 'domain_removed' | 'broadcast_canceled';
    }
  /** `detail`: why, in the operator's words. */
  | { kind: 'failed'; address: string; reason: 'dropped_by_operator'; detail: string }
  /** A local error kept the message from being composed or handed over; the log says which. */
  | LocalDeferral<'local_trouble'>
  /** Stored content differs from what was accepted; the message waits until the content is whole again. */
  | LocalDeferral<'content_damaged'>
  /** The domain lost its key or its records: a message signed now would be refused, so it waits for them. */
  | LocalDeferral<'domain_unverified'>;

interface LocalDeferral<Reason extends string> {
  kind: 'deferred';
  address: string;
  reason: Reason;
  detail: string;
  reply?: never;
  cause?: never;
  retryAfterMs?: never;
  waitMs?: never;
}
