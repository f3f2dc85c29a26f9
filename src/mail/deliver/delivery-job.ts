import type { Asked } from '../../protocol/dsn.ts';
import type { Reply, ReplyCause } from '../../protocol/smtp-reply/index.ts';

export type Family = 'v4' | 'v6';

/** Which family the connections of a job use: one first, or one alone. */
export type FamilyOrder = `${Family} first` | `${Family} only`;

/**
 * The TLS that the sender demands. "verified" is like "enforced", with a certificate that is valid for the server's name, and "proven" also
 * with a name that DNSSEC or MTA-STS prove.
 */
export type TlsWish = 'opportunistic' | 'enforced' | 'verified' | 'proven';

export interface DeliveryJob {
  id: string;
  emailId: string;
  teamId: string;
  /** Decides by which source it leaves, and which limits and rates it counts towards. */
  isMarketing?: boolean;
  /** Leaves connections and turns to the other mail of its team first. */
  isBulk?: boolean;
  /** The destination, as an A-label in lower case. */
  domain: string;
  recipients: string[];
  /** Empty for the null reverse path. */
  mailFrom: string;
  region: string;
  /** The sending domain, which may decide the relay; undefined if it was removed, or no relay depends on it. */
  senderDomain?: string | undefined;
  /** The name of the source that an earlier attempt left by: a receiver that asked to come again expects the same. */
  source?: string | undefined;
  /** The pool that its broadcast chose. */
  pool?: string | undefined;
  tls: TlsWish;
  /** The sender wants the mail delivered whatever the TLS policies of the recipient's domain say (RFC 8689 §5). */
  ignoresPolicies?: boolean;
  /** Chosen for each attempt from the region's preference and the destination's earlier replies to IPv6. */
  families?: FamilyOrder;
  /** 1 for the first attempt. */
  attempt: number;
  /** Requests of the submitting client: delivery notices (DSN), REQUIRETLS. */
  asked?: Asked;
}

export interface OutboundMessage {
  /**
   * Complete lines that end in CRLF, signed, and not dot-stuffed; chunks are cut anywhere. A message that is not in
   * memory is read as it is consumed, with the same bytes each time; a read that fails leaves it without its end.
   */
  content: Buffer[] | AsyncIterable<Buffer>;
  size: number;
  needsSmtpUtf8: boolean;
  /** The body has bytes beyond ASCII; messages that we compose have none. */
  isEightBit?: boolean;
}

export interface HandOff {
  /** Resolves when the ledger entry "this delivery is about to be handed over" is durable. */
  intend(): Promise<void>;
  /** Called in the same tick in which the final dot is written: the delivery can no longer be withdrawn. */
  mark(): void;
}

export type LoginMechanism = 'plain' | 'login' | 'cram-md5' | 'xoauth2';

/** Credentials for a relay. "auto" is a mechanism that takes a password; the secret of XOAUTH2 is an access token. */
export interface Login {
  mechanism: LoginMechanism | 'auto';
  user: string;
  secret: string;
}

export type TlsInfo = { version: string; cipher: string; authorized: boolean } | null;

export type DeferReason =
  /** The name servers of the domain could not return its MX records. */
  | 'dns_failure'
  /** Our own resolver did not answer the query for the MX records, or refused it. */
  | 'resolver_failure'
  /** No host of the destination could be reached. */
  | 'unreachable'
  /** The destination failed a moment ago; this job was not tried. */
  | 'destination_down'
  /** The destination answered with a 4yz reply. */
  | 'refused_for_now'
  | 'connection_lost'
  | 'timeout'
  /** The job asks for TLS and no host offers it, or not with a certificate that is good enough. */
  | 'tls_unavailable'
  /** No host meets the MTA-STS policy or the TLSA records of the recipient's domain. */
  | 'tls_policy_unmet'
  /** The peer did not speak SMTP as it should. */
  | 'protocol_error'
  /** A relay does not accept our login, offers no TLS with a valid certificate, or its settings are wrong. */
  | 'relay_misconfigured'
  /** The limit of messages per minute to the provider, site or relay is reached. It does not count as an attempt. */
  | 'throttled'
  /** Mail to the provider or site is suspended for a while. It does not count as an attempt. */
  | 'suspended'
  /** The address or the proxy that mail leaves by is missing. It does not count as an attempt. */
  | 'source_unavailable'
  /** A stop aborted the job before anything was handed over. It does not count as an attempt. */
  | 'stopping';

export type BounceReason =
  | 'no_such_domain'
  /** The domain says that it takes no mail (RFC 7505, RFC 7504). */
  | 'takes_no_mail'
  | 'no_route'
  | 'blocked_address'
  | 'routing_loop'
  /** The destination answered with a 5yz reply. */
  | 'refused'
  | 'too_large'
  | 'smtputf8_unsupported'
  | 'eight_bit_unsupported'
  /** The job asks for REQUIRETLS, and the host does not offer it. */
  | 'requiretls_unsupported'
  | 'malformed_address';

/** The source that a message left by, and the provider that it was for. */
export interface Via {
  source: string;
  provider: string | undefined;
}

/** A reply without `mx` is our own, written as a relay would have given it. */
export type RecipientOutcome =
  | {
      kind: 'delivered';
      address: string;
      reply: Reply;
      mx: string;
      tls: TlsInfo;
      /** The name of the relay that took it. */
      relay?: string;
      /** The recipient's server was asked for the delivery notices, so it sends them. */
      isNoticed?: true;
      /** Set by the simulator only: later events of the email. */
      then?: ('complained' | 'opened' | 'clicked')[];
    }
  | {
      kind: 'deferred';
      address: string;
      reason: DeferReason;
      detail: string;
      reply?: Reply;
      cause?: ReplyCause;
      mx?: string;
      relay?: string;
      /** The next attempt is due after exactly this time. */
      retryAfterMs?: number;
      /** The receiver wants no attempt before this time is over. */
      waitMs?: number;
    }
  | {
      kind: 'bounced';
      address: string;
      reason: BounceReason;
      detail: string;
      reply?: Reply;
      cause?: ReplyCause;
      mx?: string;
      relay?: string;
    }
  | { kind: 'suppressed'; address: string }
  /** The connection broke after the dot was written and before its reply was read. Never to be sent again. */
  | { kind: 'ambiguous'; address: string; detail: string; mx?: string; relay?: string };

/** The dialogue with a mail server about a message, kept to explain later how its delivery ended. */
export interface Conversation {
  mx: string;
  address: string;
  tls: TlsInfo;
  /** Commands and replies, never content. */
  transcript: string[];
}

export interface DeliverContext {
  message(): Promise<OutboundMessage>;
  handOff: HandOff;
  signal: AbortSignal;
  /** Called after each dialogue with a mail server. */
  onConversation?: (conversation: Conversation) => void;
  /** Called once the source and the provider of an attempt are known. */
  onVia?: (via: Via) => void;
  /** Called with refusals because of a source, if the recipients get the message from another one or wait for it. */
  onSourceRefused?: (via: Via, refusals: readonly RecipientOutcome[]) => void;
}

/** Returns one outcome for each of the job's recipients, in their order. Errors of message() and intend() pass through. */
export type Deliver = (job: DeliveryJob, ctx: DeliverContext) => Promise<RecipientOutcome[]>;

/** An outcome that is the same for all recipients of a job, before it is dealt out to them. */
export type JobOutcome =
  | {
      kind: 'deferred';
      reason: DeferReason;
      detail: string;
      reply?: Reply;
      cause?: ReplyCause;
      mx?: string;
      waitMs?: number;
      /** The next attempt is due after exactly this time. */
      retryAfterMs?: number;
      /** Why the destination is down, if the job was not tried because of that. */
      downReason?: DeferReason;
    }
  | { kind: 'bounced'; reason: BounceReason; detail: string; reply?: Reply; cause?: ReplyCause; mx?: string };

export type Deferral = Extract<JobOutcome, { kind: 'deferred' }>;

export function forEachRecipient(job: DeliveryJob, outcome: JobOutcome): RecipientOutcome[] {
  if (outcome.kind === 'bounced') return job.recipients.map((address) => ({ ...outcome, address }));
  const { downReason: _, ...shown } = outcome;
  return job.recipients.map((address) => ({ ...shown, address }));
}

/** Our own permanent outcome, with the enhanced code (RFC 3463) that a relay would have given for it. */
export function ownBounce(reason: BounceReason, code: number, enhanced: string, detail: string): JobOutcome {
  return { kind: 'bounced', reason, detail, reply: { code, enhanced, lines: [detail] } };
}
