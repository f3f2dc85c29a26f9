import type { EventType } from './vocabulary.ts';

export interface NewEvent {
  /** Given where a repetition must be recognised; otherwise the event gets one when it is recorded. */
  id?: string | undefined;
  teamId: string;
  type: EventType;
  subjectId: string;
  /** What the type's payload adds to its envelope; for per-recipient events `to` names the recipients concerned. */
  data?: Record<string, unknown>;
  at: number;
  /** Of an email: the domain it is sent from, and the broadcast it belongs to. Metrics are counted by them. */
  domainId?: string | undefined;
  broadcastId?: string | undefined;
  /**
   * Known to be the first of its type for its subject, queued and scheduled being one. What is not known is looked up,
   * at the cost of a statement.
   */
  isFirst?: boolean | undefined;
}
