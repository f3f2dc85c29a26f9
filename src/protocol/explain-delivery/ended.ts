/** How a try ended for one recipient. */
export interface Ended {
  outcome: 'delivered' | 'deferred' | 'bounced' | 'suppressed' | 'failed' | 'ambiguous';
  /** In a word of ours; null where the outcome says it all. */
  reason: string | null;
  /** What the mail server said, on one line with its codes; null where none was asked. */
  reply: string | null;
}

/** The name that the built-in mailbox of a development server has in the place of a mail server's. */
export const PLAYGROUND = 'playground';

/** What the mailbox simulator says, without a connection, to what it counts as delivered. */
export const SIMULATED = 'Delivered by the mailbox simulator';

/** Who was spoken with; nulls where no server was reached. */
export interface Peer {
  mx: string | null;
  /** null: no connection to it. What a stranger calls his server is never taken for ours. */
  address: string | null;
  /** The relay that was to pass it on; the recipient's own mail server was not spoken with then. */
  relay?: string | null;
}

export interface Explanation {
  sentence: string;
  /** null: there is nothing to do. */
  advice: string | null;
}
