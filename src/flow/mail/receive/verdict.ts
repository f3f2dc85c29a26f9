import type { Refusal } from '../../../platform/refusal/index.ts';

/** Why a message cannot be taken now. */
export type Deferral =
  /** clamd does not answer, and nothing is taken unseen. */
  | { why: 'no_scanner' }
  /** SPF, DKIM and DMARC come to no end. */
  | { why: 'unchecked' }
  /** A rule passes it on, or it is a bounce that goes on, and its team may not send at present. */
  | { why: 'not_passed_on'; refusal: Refusal };

/** What the door has to say. */
export type Verdict =
  | { kind: 'taken'; id: string }
  /** The domain in From has published that such mail is to be refused. */
  | { kind: 'refused'; domain: string | undefined }
  | { kind: 'deferred'; deferral: Deferral }
  /** It is no report, and nothing else is taken where it was sent to. */
  | { kind: 'unwanted' }
  /** It came for the sender of mail that was passed on, and is nothing that comes back for mail. */
  | { kind: 'no_return' };
