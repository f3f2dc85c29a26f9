import type { SocksLogin } from '../../protocol/socks5.ts';
import type { DeliveryJob, Family, RecipientOutcome } from './delivery-job.ts';
import type { Relay } from './relay.ts';
import type { DomainTls } from './tls-policy.ts';

/** A SOCKS5 proxy that connections to mail servers are made through. */
export interface Proxy {
  host: string;
  port: number;
  /** Reads the credentials; may throw an error that says what to change. */
  readLogin?: () => SocksLogin;
}

/** An address of this machine, a proxy or a relay that mail leaves by, as the settings name it. */
export interface Source {
  name: string;
  heloName: string | undefined;
  /** With an address of one family only, mail leaves by that family only. */
  address: { v4?: string; v6?: string } | undefined;
  prefers: () => Family;
  proxy: Proxy | undefined;
  /** Takes the mail instead of the recipient's own servers. */
  relay: Relay | undefined;
}

/** A job with the relay that it goes through; without one, it goes to the recipient's own servers. */
export interface RoutedJob extends DeliveryJob {
  relay?: Relay | undefined;
  /** The source of its pool; without one, it leaves as its region says. */
  from?: Source | undefined;
  /** The TLS policies of the recipient's domain. */
  policies?: DomainTls;
}

/** The fields of a job that decide which sources it may leave by. */
export type PooledJob = Pick<DeliveryJob, 'region' | 'senderDomain' | 'isMarketing' | 'source' | 'pool'>;

/** The receiver of a job: a mailbox provider, or mail servers without one. */
export interface ReceiverPlace {
  provider: string | undefined;
  servers: string;
  /** The domain of the recipients. */
  domain: string;
}

/** The source that a job leaves by, or why it has to wait. */
export type SourceChoice =
  | {
      kind: 'source';
      source: Source;
      /** Takes the choice back, because nothing was sent. */
      undo: () => void;
    }
  | { kind: 'wait'; reason: 'throttled' | 'suspended' | 'source_unavailable'; detail: string; retryAfterMs: number }
  /** Every source was tried. */
  | { kind: 'exhausted'; detail: string; retryAfterMs: number };

/** The names of sources that are not chosen, or only if there are no others. */
export interface OtherSources {
  /** Nothing could be sent from these, or the receiver refused them for what they are. */
  tried: ReadonlySet<string>;
  /** A moment ago, the receiver took no mail from these. */
  failing: ReadonlySet<string>;
}

/** The sources in pools, and which of them a message leaves by. */
export interface Sources {
  /** Lists the sources that a job may leave by; undefined if it leaves as its region says. */
  listFor(job: PooledJob): readonly Source[] | undefined;
  /** Chooses one of them. */
  choose(job: PooledJob, place: ReceiverPlace, others: OtherSources): Promise<SourceChoice>;
  /** Returns the time in milliseconds until which every source waits, as far as that is known; undefined if one is free. */
  findWait(job: PooledJob, place: ReceiverPlace): number | undefined;
  /** Records that nothing can be sent from a source: its address or its proxy is missing. */
  noteUnavailable(source: Source, detail: string): void;
  /** Records the outcomes of a message at a receiver. */
  noteOutcomes(source: Source, place: ReceiverPlace, outcomes: readonly RecipientOutcome[]): Promise<void>;
  /** Records that a receiver refused mail because of the source: while there are others, it gets none from this one for a while. */
  noteMistrust(source: Source, place: ReceiverPlace): Promise<void>;
}
