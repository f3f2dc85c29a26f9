import type { Happening } from './event-data.ts';

interface Envelope {
  /** Given where a repetition must be recognised; otherwise the event gets one when it is recorded. */
  id?: string | undefined;
  teamId: string;
  subjectId: string;
  at: number;
  /** Of an email: the domain it is sent from, and the broadcast it belongs to. Metrics are counted by them. */
  domainId?: string | undefined;
  broadcastId?: string | undefined;
  /**
   * Known to be the first of its type for its subject, queued and scheduled being one; several events of one call may be, and
   * count once. What is not known is looked up, at the cost of a statement.
   */
  isFirst?: boolean | undefined;
  /** How many runs of automations, one started by the effects of the other, led to it; it is not recorded. */
  depth?: number | undefined;
}

export type NewEvent = Envelope & Happening;

/** Whether a machine opened or clicked, which no state and no count of people follows. */
export const isByMachine = ({ data }: Happening): boolean => data !== undefined && 'machine' in data;
