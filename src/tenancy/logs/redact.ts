const REDACTED = '[redacted]';

/** Shorter than every token of ours, longer than the prefix of a key that people see. */
const TOKEN_CHARS_MIN = 19;
/**
 * Prefixes of keys, sessions, challenges, device logins, OAuth, webhooks, share links and mails to people; many
 * ordinary words end in a prefix of the last two.
 */
const TOKENS =
  /(?:rk|rks|rmc|rkd|rko|rkop|rkor|rkoc|rkc|rkr|whsec|(?:(?<![A-Za-z0-9])|(?<=%2[Ff]))r[si])_[A-Za-z0-9_+/=-]{16,}/g;

/** Redacts our tokens anywhere in a text: one may be pasted into a subject as well as into a template. */
export function redactTokens(text: string): string {
  // Most texts are short or without an underscore, and finding that out costs a fraction of the search.
  return text.length >= TOKEN_CHARS_MIN && text.includes('_') ? text.replaceAll(TOKENS, REDACTED) : text;
}

/** Redacts a path; a token may be percent-encoded. */
export function redactPath(path: string): string {
  if (!path.includes('%')) return redactTokens(path);
  return path.split('/').map(redactSegment).join('/');
}

function redactSegment(segment: string): string {
  const decoded = decodedOr(segment);
  return redactTokens(decoded) === decoded ? segment : REDACTED;
}

function decodedOr(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/**
 * Redacts a URL. A reader of the log may see where a file came from, and may not fetch it: a signature is in the query,
 * a password before the host.
 */
export function redactUrl(text: string): string {
  if (!/[?#@]|^\s*data:/i.test(text)) return redactTokens(text);
  if (!URL.canParse(text)) return REDACTED;
  const url = new URL(text);
  // A scheme without a host keeps everything in its path: data:, mailto:.
  if (url.host === '') return `${url.protocol}${REDACTED}`;
  const isCut = url.search !== '' || url.hash !== '' || url.username !== '' || url.password !== '';
  return redactTokens(`${url.protocol}//${url.host}${url.pathname}`) + (isCut ? `?${REDACTED}` : '');
}

/** Kinds of values, determined by the name of their field. */
type KeyKind = 'plain' | 'secret' | 'link' | 'url' | 'attachments';

const ENDS_LIKE_A_SECRET =
  /(?:token|secret|password|passwd|passphrase|privatekey|apikey|authorization|cookie|recoverycodes?|otpauthurl|codeverifier)$/;
const URLS = new Set(['path', 'url', 'endpoint']);

const KEYS_REMEMBERED_MAX = 1000;
const KEY_CHARS_REMEMBERED_MAX = 64;
const remembered = new Map<string, KeyKind>();

/**
 * Returns the kind of a field, however its name is written: `signing_secret`, `signingSecret` and `Signing-Secret` are
 * one name.
 */
function kindOfKey(key: string): KeyKind {
  const known = remembered.get(key);
  if (known !== undefined) return known;
  const kind = classify(key.toLowerCase().replaceAll(/[^a-z0-9]/g, ''));
  // Callers may choose any names; ours are fewer than this limit.
  if (remembered.size < KEYS_REMEMBERED_MAX && key.length <= KEY_CHARS_REMEMBERED_MAX) remembered.set(key, kind);
  return kind;
}

function classify(name: string): KeyKind {
  if (ENDS_LIKE_A_SECRET.test(name)) return 'secret';
  if (name === 'downloadurl') return 'link';
  if (name === 'attachments') return 'attachments';
  return URLS.has(name) ? 'url' : 'plain';
}

/** Replacement of a body that is too large, or of which nothing may be kept. */
interface BodyMarker {
  truncated?: true;
  redacted?: true;
  unreadable?: true;
  /** Original size, attachments included. */
  bytes: number;
  preview?: unknown;
}

interface RedactOptions {
  /** Bytes of JSON that are kept; a larger body is kept as a marker with a preview. */
  bytesMax: number;
  bytes: number;
  /** Long texts are cut after their beginning. */
  isClipped?: boolean;
  /** The response is a link that gives access to everybody who has it. */
  isShare?: boolean;
}

/**
 * Returns a JSON body without its secrets, as text to keep. Works on parsed values, so that no escape and no repeated
 * name hides anything, and reads no more of them than it can keep, whatever the size of the body.
 */
export function redactBody(value: unknown, options: RedactOptions): string {
  const { bytesMax, bytes, isClipped = false, isShare = false } = options;
  const stringCharsMax = isClipped ? CLIPPED_CHARS : Number.POSITIVE_INFINITY;
  const whole: Walk = { left: bytesMax, stringCharsMax, itemsMax: Number.POSITIVE_INFINITY, isShare };
  const kept = redact(value, 'plain', OUTSIDE, whole);
  if (whole.left >= 0) {
    const text = JSON.stringify(kept);
    // Escapes and letters beyond ASCII take more bytes than were counted.
    if (text.length * 3 <= bytesMax || Buffer.byteLength(text) <= bytesMax) return text;
  }
  const left = Math.min(PREVIEW_CHARS, bytesMax);
  const preview: Walk = { left, stringCharsMax: CLIPPED_CHARS, itemsMax: PREVIEW_ITEMS, isShare };
  return markerText({ truncated: true, bytes, preview: redact(value, 'plain', OUTSIDE, preview) });
}

export const markerText = (marker: BodyMarker): string => JSON.stringify(marker);

const CLIPPED_CHARS = 120;
const PREVIEW_CHARS = 1024;
const PREVIEW_ITEMS = 10;

interface Walk {
  /** Characters that may still be kept; below zero the walk ends at once. */
  left: number;
  stringCharsMax: number;
  itemsMax: number;
  isShare: boolean;
}

interface Place {
  inAttachments: boolean;
  depth: number;
}

const OUTSIDE: Place = { inAttachments: false, depth: 0 };

/** Both this walk and JSON.stringify recurse for each level. */
const DEPTH_MAX = 40;

function redact(value: unknown, kind: KeyKind, place: Place, walk: Walk): unknown {
  if (kind === 'secret' || kind === 'link') return redactWhole(value, walk);
  if (typeof value === 'string') {
    return kind === 'attachments' ? spend(contentNote(value), walk) : redactString(value, kind, walk);
  }
  if (typeof value !== 'object' || value === null) {
    walk.left -= 5;
    return value;
  }
  if (place.depth >= DEPTH_MAX) return spend('[too deep]', walk);
  const inner = { inAttachments: place.inAttachments || kind === 'attachments', depth: place.depth + 1 };
  if (Array.isArray(value)) return redactList(value, kind, inner, walk);
  if (isFileBytes(value)) return spend(sizeNote(value.data.length), walk);
  return redactObject(value as Record<string, unknown>, inner, walk);
}

/** Redacts a whole value. Absent and switched off are no secrets. */
function redactWhole(value: unknown, walk: Walk): unknown {
  return value === null || typeof value === 'boolean' ? value : spend(REDACTED, walk);
}

function redactString(text: string, kind: KeyKind, walk: Walk): string {
  if (text.length > walk.stringCharsMax) return spend(clip(text, kind, walk), walk);
  walk.left -= text.length + 2;
  // It will not be kept, and may be megabytes long.
  if (walk.left < 0) return '';
  if (kind !== 'url') return redactTokens(text);
  return walk.isShare ? REDACTED : redactUrl(text);
}

/**
 * Redacts and cuts a text. A token at the cut is recognized whole: the part that is searched is far longer than the
 * part that is kept.
 */
function clip(text: string, kind: KeyKind, walk: Walk): string {
  if (kind === 'url') return REDACTED;
  const seen = redactTokens(text.slice(0, walk.stringCharsMax * 8));
  return `${seen.slice(0, walk.stringCharsMax).toWellFormed()}… [${text.length} characters]`;
}

function redactList(list: readonly unknown[], kind: KeyKind, place: Place, walk: Walk): unknown[] {
  const kept: unknown[] = [];
  for (const item of list) {
    if (walk.left < 0) break;
    if (kept.length >= walk.itemsMax) {
      kept.push(spend(`[${list.length} items]`, walk));
      break;
    }
    walk.left -= 1;
    kept.push(redact(item, kind, place, walk));
  }
  return kept;
}

function redactObject(fields: Record<string, unknown>, place: Place, walk: Walk): Record<string, unknown> {
  const kept: Record<string, unknown> = {};
  for (const key in fields) {
    walk.left -= key.length + 4;
    if (walk.left < 0) break;
    const value = fields[key];
    const isContent = place.inAttachments && key === 'content';
    const shown = isContent ? spend(contentNote(value), walk) : redact(value, kindOfKey(key), place, walk);
    put(kept, redactTokens(key), shown);
  }
  return kept;
}

/** Sets a field. JSON may name a field __proto__, which plain assignment would treat differently. */
function put(kept: Record<string, unknown>, key: string, value: unknown): void {
  if (key !== '__proto__') kept[key] = value;
  else Object.defineProperty(kept, key, { value, enumerable: true, configurable: true, writable: true });
}

const isFileBytes = (value: object): value is { data: unknown[] } =>
  'type' in value && value.type === 'Buffer' && 'data' in value && Array.isArray(value.data);

function contentNote(content: unknown): string {
  if (typeof content === 'string') {
    const padding = content.endsWith('==') ? 2 : content.endsWith('=') ? 1 : 0;
    return sizeNote(Math.floor(((content.length - padding) * 3) / 4));
  }
  if (Array.isArray(content)) return sizeNote(content.length);
  if (typeof content === 'object' && content !== null && isFileBytes(content)) return sizeNote(content.data.length);
  return REDACTED;
}

const sizeNote = (bytes: number): string => `[redacted: ${bytes} bytes]`;

/** Counts the characters of a replacement. */
function spend(text: string, walk: Walk): string {
  walk.left -= text.length + 2;
  return text;
}
