export interface ReportedRecipient {
  /**
   * `delivered`, `relayed` (to a server that will send no notice) and `expanded` (to the members of a list, each of whom may
   * be told of) are said on request alone; the others end a delivery, or tell that it takes longer.
   */
  action: 'failed' | 'delayed' | 'delivered' | 'relayed' | 'expanded';
  /** The addresses that the notice gives, the original one first and the final one last. None where it gives none. */
  addresses: readonly string[];
  /** `5.1.1` or the like, where it is said. */
  status: string | undefined;
  diagnostic: string;
}

export type MailReport =
  | { kind: 'delivery'; recipients: ReportedRecipient[] }
  /** `envelopeSenders` are those that the report gives for the message complained about. */
  | { kind: 'complaint'; addresses: string[]; envelopeSenders: string[] }
  | { kind: 'none'; because: string };
