/** How a try ended for one recipient. */
export interface Ended {
  outcome: 'delivered' | 'deferred' | 'bounced' | 'suppressed' | 'failed' | 'ambiguous';
  /** In a word of ours; null where the outcome says it all. */
  reason: string | null;
  /** What the mail server said, on one line with its codes; null where none was asked. */
  reply: string | null;
}

export interface Explanation {
  sentence: string;
  /** null: there is nothing to do. */
  advice: string | null;
}
