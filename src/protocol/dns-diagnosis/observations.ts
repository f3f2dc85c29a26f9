const CHARS_MAX = 70;

// Control characters, line separators, bidirectional overrides and other invisible format characters: untrusted text
// must not affect a terminal, a log or a page.
const STEERING = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\u2028\u2029]/gu;

/** Returns text from DNS in a harmless and short form. */
export function shown(text: string, charsMax = CHARS_MAX): string {
  const whole = detached(text.slice(0, charsMax * 4).toWellFormed()).replaceAll(STEERING, '\uFFFD');
  const chars = Array.from(whole);
  return chars.length <= charsMax ? whole : `${chars.slice(0, charsMax - 1).join('')}…`;
}

/**
 * Copies the string: a substring keeps the whole original in memory, and the shown part lives longer than the original.
 */
const detached = (text: string): string => Buffer.from(text, 'utf8').toString('utf8');

export const quoted = (text: string): string => `"${shown(text)}"`;

/** Formats a list as `a`, `a and b`, or `a, b and 3 more`. */
export function listed(items: readonly string[], max = 3): string {
  const seen = items.slice(0, max).map((item) => shown(item));
  const left = items.length - seen.length;
  if (left > 0) return `${seen.join(', ')} and ${left} more`;
  return seen.length < 2 ? (seen[0] ?? 'none') : `${seen.slice(0, -1).join(', ')} and ${seen.at(-1)}`;
}

/** Formats a time to the second: name servers know nothing finer. */
export function shownTime(ms: number): string {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? 'an unknown time' : date.toISOString().replace(/\.\d+Z$/, 'Z');
}

/** Decodes a TXT record, which is read as one character a byte, as UTF-8 if it is valid. */
export function decodeText(bytes: string): string {
  if (!/[\x80-\xff]/.test(bytes) || /[^\0-\xff]/.test(bytes)) return bytes;
  const text = Buffer.from(bytes, 'latin1').toString('utf8');
  return text.includes('\uFFFD') ? bytes : text;
}

const SMART_QUOTES = /[\u2018-\u201f\u00ab\u00bb\u2033]/;
const ODD_BLANKS = /[\u00a0\u2000-\u200d\u202f\u2060\u3000\ufeff]/g;

/**
 * Describes, as the middle of a sentence, how a panel or a word processor changed a text that would be right otherwise.
 * Returns undefined if the text is wrong for another reason.
 */
export function shapeFault(text: string, isRight: (text: string) => boolean): string | undefined {
  for (const { said, repair } of REPAIRS) {
    const repaired = repair(text);
    if (repaired !== text && isRight(repaired)) return said(text);
  }
  return undefined;
}

interface Repair {
  said: (text: string) => string;
  repair: (text: string) => string;
}

const straight = (text: string): string => text.replaceAll(new RegExp(SMART_QUOTES, 'g'), '"').replaceAll(/["'`]/g, '');
const unescaped = (text: string): string => text.replaceAll(/\\([;"\s=])/g, '$1').replaceAll('\\', '');

/** Ordered from the smallest repair to all of them at once: the first that helps names the mistake. */
const REPAIRS: readonly Repair[] = [
  {
    said: (text) =>
      `has a blank ${/^\s/.test(text) ? 'before its first' : 'after its last'} character; take the blank away`,
    repair: (text) => text.trim(),
  },
  {
    said: () => 'has typographic quotation marks in it, as word processors make them; enter the value without any',
    repair: (text) => (SMART_QUOTES.test(text) ? straight(text).trim() : text),
  },
  {
    said: () =>
      'has quotation marks inside the text where the value was split; enter it in one piece without quotation marks, and the DNS host splits it',
    repair: (text) =>
      /["'`]\s*["'`]/.test(text.slice(1, -1)) ? straight(text.replaceAll(/["'`]\s+["'`]/g, '')).trim() : text,
  },
  {
    said: () => 'has quotation marks that are part of the text; enter the value without them',
    repair: (text) => straight(text).trim(),
  },
  {
    said: () => 'has backslashes in it, which this DNS host does not take for escapes; enter the value without them',
    repair: unescaped,
  },
  {
    said: (text) => `is a whole line of a zone file (${shown(text, 30)}); enter only what stands behind TXT`,
    repair: (text) => straight(text.replace(/^.{0,300}?\sTXT\s+/is, '')).trim(),
  },
  {
    said: () =>
      'has invisible or unusual blanks in it, as copying from a web page makes them; type or paste it as plain text',
    repair: (text) => text.replaceAll(ODD_BLANKS, ' ').replaceAll(/\s+/g, ' ').trim(),
  },
  {
    said: () => 'has quotation marks or backslashes in it that are part of the text; enter the value without them',
    repair: (text) =>
      unescaped(straight(text.replaceAll(ODD_BLANKS, ' ')))
        .replaceAll(/\s+/g, ' ')
        .trim(),
  },
];

type RecordKind = 'DKIM' | 'SPF' | 'Receiving' | 'Tracking' | 'TrackingCAA' | 'Claim' | 'DMARC' | 'TLS-RPT' | 'MTA-STS';

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

/** The answer to one DNS query. The owner of the zone wrote it, so none of it can be trusted. */
export type Answer =
  | {
      kind: 'found';
      /** TXT: the strings joined; MX: `10 mx.example.com`; CAA: `0 issue "ca.example"`; else the target or address. */
      records: readonly string[];
      /** The targets of the CNAMEs that were followed; the records are at the last one. */
      aliases: readonly string[];
      ttlSeconds?: number | undefined;
    }
  | {
      kind: 'none';
      why: 'nxdomain' | 'nodata';
      aliases: readonly string[];
      /** Time for which a resolver may cache it (RFC 2308 §5). */
      ttlSeconds?: number | undefined;
    }
  | { kind: 'failed'; reason: string };

/** The reaction of one of a zone's name servers to the query. */
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

/** An additional query whose answer distinguishes one mistake from another. */
export interface FurtherQuestion {
  name: string;
  type: AskedType;
}

export interface Observations {
  nowMs: number;
  /** The answer that the check used: from the configured resolver through our own short-lived cache. */
  checked: Answer;
  /** The current answer of the configured resolver. */
  resolver?: Answer | undefined;
  zone?: ZoneObservation | undefined;
  /** The further queries' answers, keyed by questionKey. */
  further?: ReadonlyMap<string, Answer> | undefined;
  /** The look-ups that the SPF record found by the resolver causes. */
  spf?: SpfCost | undefined;
  /** The domain's other records, and whether each is correct. */
  siblings?: readonly { wanted: Wanted; isRight: boolean }[] | undefined;
}

export interface SpfCost {
  /** A lower bound (RFC 7208 §4.6.4). */
  lookups: number;
  /** Names whose TXT records are needed to continue counting. */
  missing: readonly string[];
  /** Included names without exactly one SPF record, which is a permanent error (RFC 7208 §5.2). */
  broken: readonly { name: string; why: 'absent' | 'several' }[];
}

/** right: as asked for. wrong: there is another record. absent: there is no record. unknown: no server could say. */
export type Verdict = 'right' | 'wrong' | 'absent' | 'unknown';

export interface Comparison {
  verdict: Verdict;
  /** One sentence with what is wrong and what would be right; null if nothing is wrong. */
  sentence: string | null;
}

export const questionKey = ({ name, type }: FurtherQuestion): string => `${type} ${name.toLowerCase()}`;
