/**
 * How a mailbox provider behaves, as data: what it limits, what it replies, how it fails and what it reports later. Keys
 * are spelled as in the files of config/rehearsals. Texts may contain {ip} (the client), {host}, {recipient} and
 * {domain}.
 */

export const STAGES = ['greeting', 'mail', 'rcpt', 'data', 'dot'] as const;
export type Stage = (typeof STAGES)[number];

export const TLS_KINDS = ['offered', 'required', 'none', 'broken', 'expired', 'wrong-name'] as const;
export type TlsKind = (typeof TLS_KINDS)[number];

export const FAULT_KINDS = ['silence', 'drop-at-greeting', 'drop-in-data', 'drop-after-dot'] as const;
export type FaultKind = (typeof FAULT_KINDS)[number];

export interface Limit {
  max: number;
  reply: string;
}

/** A limit within a sliding window, for each client address. */
export interface RateLimit extends Limit {
  of: 'messages' | 'connections';
  /** 60 by default. */
  per_seconds?: number;
  /** The stage at which excess messages are refused; mail by default. Excess connections are refused at the greeting. */
  stage?: 'mail' | 'rcpt' | 'dot';
  /** Once it is exceeded, everything is refused for this time. */
  for_minutes?: number;
}

/** A time after the start of the rehearsal; without an end, until the end. */
export interface Period {
  from_minute?: number;
  to_minute?: number;
  /** Affects every nth; all by default. */
  every?: number;
}

export interface Tempfail extends Period {
  stage?: Stage;
  reply: string;
}

export interface Fault extends Period {
  kind: FaultKind;
}

/** Some recipients: a share of all, chosen by a hash of the address, or by local part; `vip*` means a prefix. */
export interface Some {
  share?: number;
  local_parts?: string[];
}

export interface Refused extends Some {
  reply: string;
}

export interface Greylist {
  seconds: number;
  reply: string;
}

export interface Block {
  /** Blocks a client after that many recipients that do not exist, or complaints. */
  unknown?: number;
  complaints?: number;
  /** 60 by default. */
  within_minutes?: number;
  for_minutes: number;
  stage?: 'greeting' | 'mail';
  reply: string;
}

/** The shortest and the longest time after the message was accepted. */
export type Minutes = [number, number];

export interface LateBounce extends Some {
  after_minutes: Minutes;
  status: string;
  diagnostic: string;
}

export interface LateComplaint extends Some {
  after_minutes: Minutes;
}

export interface Delays {
  greeting_ms?: number;
  ehlo_ms?: number;
  mail_ms?: number;
  rcpt_ms?: number;
  data_ms?: number;
  dot_ms?: number;
}

export interface Behaviour {
  /** Text after `220 <host> `. */
  greeting?: string;
  /** Keywords of EHLO, without SIZE and STARTTLS. */
  extensions?: string[];
  size_bytes?: number;
  tls?: TlsKind;
  delays?: Delays;
  /** Open connections of one client to all hosts. */
  connections?: Limit;
  messages_per_connection?: Limit;
  rates?: RateLimit[];
  greylist?: Greylist;
  unknown?: Refused;
  full?: Refused;
  tempfail?: Tempfail[];
  faults?: Fault[];
  block?: Block[];
  bounce_later?: LateBounce;
  complain_later?: LateComplaint;
}

export interface ProviderData extends Behaviour {
  /** Names of the MX hosts, best first. A domain may have names of its own instead. */
  hosts?: string[];
  /** The number of loopback addresses that all names share; one for each name by default. */
  addresses?: number;
}

export interface DomainData {
  /** `{n}` is replaced by 1, 2, 3 if there is a count. */
  name: string;
  provider: string;
  /** Share of the recipients, relative to the shares of the other entries. */
  share: number;
  count?: number;
  hosts?: string[];
  /** Each of the domains is a receiver of its own, which behaves like the provider and shares no limit with others. */
  separate?: boolean;
  /** The answer of DNS about the domain for some time, instead of its records. */
  dns_fault?: Period & { answer: 'SERVFAIL' | 'NXDOMAIN' };
}

export interface Profile {
  name: string;
  summary: string;
  providers: Record<string, ProviderData>;
  domains: DomainData[];
}
