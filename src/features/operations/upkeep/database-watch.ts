import type { World } from '../../../platform/world/index.ts';
import type { Finding } from '../findings/index.ts';

/** Whether the database of this process is still the one that counts. */
export interface DatabaseWatch {
  /** Resolves with why, once the process can do nothing any more and has to end. */
  gone: Promise<Error>;
  findings(): readonly Finding[];
  /** Rejects while nothing may be written. */
  check(): Promise<void>;
  /** Ends the watching; what is being told of it is told first. */
  stop(): Promise<void>;
}

/** Has a finding told where the database cannot keep that it was; the same `event` once. */
export type Tell = (finding: Finding, event: string) => Promise<void>;

export type Watched = Pick<World, 'db' | 'clock' | 'log'>;
