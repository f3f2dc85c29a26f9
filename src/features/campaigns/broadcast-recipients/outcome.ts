export type BounceType = 'permanent' | 'transient' | 'undetermined';

/** What happened to an email. Emails of no broadcast may be among them, and types that no report counts. */
export interface BroadcastOutcome {
  emailId: string;
  /** An `email.*` event. */
  type: string;
  /** Of `email.opened` and `email.clicked`: no person did it. */
  isMachine?: boolean;
  /** Of `email.bounced`. */
  bounce?: BounceType | undefined;
  /** It counts towards no rate that holds a broadcast: of the simulator, or of an address that was suppressed before. */
  isExcused?: boolean;
  /** Of `email.clicked`: the address that was clicked. */
  link?: string | undefined;
}
