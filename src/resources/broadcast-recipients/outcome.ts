export type BounceType = 'permanent' | 'transient' | 'undetermined';

/** What happened to an email. Emails of no broadcast may be among them, and types that no report counts. */
export interface BroadcastOutcome {
  emailId: string;
  /** An `email.*` event, or `unsubscribed` for who left by a link of this email. */
  type: string;
  /** Of `email.bounced`. */
  bounce?: BounceType | undefined;
  /** Of `email.clicked`: the address that was clicked. */
  link?: string | undefined;
}
