export type BounceType = 'permanent' | 'transient' | 'undetermined';

/**
 * Something that happened to an email. The email may belong to no broadcast, and the type may be one that no report
 * counts.
 */
export interface BroadcastOutcome {
  emailId: string;
  /** An `email.*` event. */
  type: string;
  /** For `email.opened` and `email.clicked`: a machine did it, not a person. */
  isMachine?: boolean;
  /** For `email.failed`: no mail server can have received it. */
  isUnsent?: boolean;
  /** For `email.bounced`. */
  bounce?: BounceType | undefined;
  /**
   * Excludes it from the rates that hold a broadcast: the simulator caused it, or the address was already suppressed.
   */
  isExcused?: boolean;
  /** For `email.clicked`: the address that was clicked. */
  link?: string | undefined;
}
