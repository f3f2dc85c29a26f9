export type RecordKind = 'DKIM' | 'SPF' | 'Receiving' | 'Tracking' | 'TrackingCAA' | 'Claim' | 'DMARC';

/** A record that a domain's owner was asked to publish. */
export interface Wanted {
  record: RecordKind;
  type: 'TXT' | 'MX' | 'CNAME' | 'CAA';
  name: string;
  value: string;
  priority: number | null;
  /** The domain it belongs to; its zone may begin further up. */
  domain: string;
}

export type AskedType = 'TXT' | 'MX' | 'CNAME' | 'CAA' | 'A';

/** What was answered to one question. Nothing in it can be trusted: the owner of the zone wrote it. */
export type Answer =
  | {
      kind: 'found';
      /** TXT: the strings joined; MX: `10 mx.example.com`; CAA: `0 issue "ca.example"`; else the target or address. */
      records: readonly string[];
      /** The targets of the CNAMEs on the way, the last one being where the records stand. */
      aliases: readonly string[];
      ttlSeconds?: number | undefined;
    }
  | {
      kind: 'none';
      why: 'nxdomain' | 'nodata';
      aliases: readonly string[];
      /** How long a resolver may keep it (RFC 2308 §5). */
      ttlSeconds?: number | undefined;
    }
  | { kind: 'failed'; reason: string };

/** How one of a zone's name servers took the question. */
export interface ServerObservation {
  host: string;
  state: 'answers' | 'silent' | 'garbled' | 'failing' | 'lame' | 'nameless' | 'private';
  answer?: Answer | undefined;
}

export interface ZoneObservation {
  /** The name at which the zone begins. */
  name: string;
  servers: readonly ServerObservation[];
}

/** A further question whose answer tells one mistake from another. */
export interface FurtherQuestion {
  name: string;
  type: AskedType;
}

export interface Observations {
  nowMs: number;
  /** What the check went by: the configured resolver through our own short memory. */
  checked: Answer;
  /** What the configured resolver answers at this moment. */
  resolver?: Answer | undefined;
  zone?: ZoneObservation | undefined;
  /** Answers to further questions, by questionKey. */
  further?: ReadonlyMap<string, Answer> | undefined;
  /** The look-ups that the SPF record found by the resolver needs. */
  spf?: SpfCost | undefined;
  /** The domain's other records, and whether each was found as it should be. */
  siblings?: readonly { wanted: Wanted; isRight: boolean }[] | undefined;
}

export interface SpfCost {
  /** At least so many (RFC 7208 §4.6.4). */
  lookups: number;
  /** Names whose TXT records have to be known to count on. */
  missing: readonly string[];
  /** Included names without exactly one SPF record, which is a permanent error (RFC 7208 §5.2). */
  broken: readonly { name: string; why: 'absent' | 'several' }[];
}

/** right: as asked for. wrong: something else stands there. absent: nothing does. unknown: no server could say. */
export type Verdict = 'right' | 'wrong' | 'absent' | 'unknown';

export interface Judgement {
  verdict: Verdict;
  /** What is wrong and what would be right, in one sentence; null when nothing is. */
  sentence: string | null;
}

export const questionKey = ({ name, type }: FurtherQuestion): string => `${type} ${name.toLowerCase()}`;
