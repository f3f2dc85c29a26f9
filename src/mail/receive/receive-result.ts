import type { Refusal } from '../../platform/refusal/index.ts';

/** Why a message is deferred: its sender should send it again. */
export type Deferral =
  /** clamd does not answer, and the settings take no message unscanned. */
  | { why: 'no_scanner' }
  /** SPF, DKIM and DMARC were not checked within their limits. */
  | { why: 'unchecked' }
  /** A rule forwards the message, or it is a bounce that is sent back, and the team may not send at present. */
  | { why: 'not_forwarded'; refusal: Refusal };

/** What the port answers to the sender of a message. */
export type ReceiveResult =
  | { kind: 'accepted'; id: string }
  /** The DMARC policy of the domain in From asks to refuse it; undefined: its From names no single domain. */
  | { kind: 'refused'; domain: string | undefined }
  | { kind: 'deferred'; deferral: Deferral }
  /** It is no report, and came to an address that takes only reports. */
  | { kind: 'unwanted' }
  /** It is no bounce, and came to a rewritten sender, which takes only bounces. */
  | { kind: 'no_return' };
