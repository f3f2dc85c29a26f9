import { textOfHtml } from '../read-message/index.ts';
import { dropsQuoteOfHtml } from './html-quote.ts';
import { ATTRIBUTIONS, FOOTERS, HEADER_NAMES, SEPARATORS } from './quote-words.ts';

/** Longer mails are looked at in their beginning: what somebody writes anew stands there. */
const CHARS_MAX = 256 * 1024;
/** A line of who wrote when is folded into so many. */
const ATTRIBUTION_LINES_MAX = 4;
const ATTRIBUTION_CHARS_MAX = 300;
const SIGNATURE_LINES_MAX = 20;

/**
 * What somebody has written in an answer: without the mail that is quoted in it, whichever program quoted it, and without a
 * signature. Answers between the lines of a quote are all of it. What would be nothing then is the whole text.
 */
export function newTextOf({ text, html }: { text: string | null; html: string | null }): string {
  const whole = text ?? (html === null ? '' : textOfHtml(dropsQuoteOfHtml(html.slice(0, CHARS_MAX))));
  const lines = whole.slice(0, CHARS_MAX).replaceAll(/\r\n?/g, '\n').split('\n');
  const own = withoutSignature(withoutQuotes(lines));
  const found = trimmed(own);
  return found === '' ? trimmed(lines) : found;
}

const trimmed = (lines: readonly string[]): string =>
  lines
    .map((line) => line.trimEnd())
    .join('\n')
    .replaceAll(/\n{3,}/g, '\n\n')
    .trim();

const isQuoted = (line: string): boolean => /^\s{0,3}[>|＞]/u.test(line);
const isBlank = (line: string): boolean => line.trim() === '';

function withoutQuotes(lines: readonly string[]): string[] {
  const kept: string[] = [];
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at]!;
    if (isQuoted(line)) continue;
    if (isSeparator(lines, at)) break;
    const length = attributionLength(lines, at);
    if (length === 0) {
      kept.push(line);
      continue;
    }
    const next = nextFilled(lines, at + length);
    // A quote with marks may have answers between it; without them, everything behind is quoted.
    if (next === undefined || !isQuoted(lines[next]!)) break;
    at += length - 1;
  }
  return kept;
}

const nextFilled = (lines: readonly string[], from: number): number | undefined => {
  for (let at = from; at < lines.length; at++) if (!isBlank(lines[at]!)) return at;
  return undefined;
};

/** `-----Original Message-----`, or the head of the mail below, as Outlook writes it in its own language. */
function isSeparator(lines: readonly string[], at: number): boolean {
  const line = lines[at]!;
  if (line.length <= ATTRIBUTION_CHARS_MAX && SEPARATORS.test(line)) return true;
  const from = /^[_-]{10,}\s*$/.test(line) ? nextFilled(lines, at + 1) : at;
  return from !== undefined && isHead(lines.slice(from, from + 4));
}

/** Two lines of a head or more, one of which says from whom. */
function isHead(lines: readonly string[]): boolean {
  const [first, ...next] = lines.map(fieldName);
  if (first === undefined || next.length === 0) return false;
  const isFirst = HEADER_NAMES.from.has(first) && next.some((name) => HEADER_NAMES.others.has(name ?? ''));
  return isFirst || (HEADER_NAMES.others.has(first) && HEADER_NAMES.from.has(next[0] ?? ''));
}

const fieldName = (line: string): string | undefined =>
  /^\s{0,3}\*{0,2}([^:：*]{1,20}?)\s?\*{0,2}[:：]/u.exec(line)?.[1]?.trim().toLowerCase();

/** How many lines say who wrote when what follows; 0 where none does. */
function attributionLength(lines: readonly string[], at: number): number {
  // A greeting right above it is none of it.
  if (!/\d|@|^\s*(?:on|am|um|le|el|il|em|op|w|den|pe|dne)\b/iu.test(lines[at]!)) return 0;
  let joined = '';
  for (let count = 1; count <= ATTRIBUTION_LINES_MAX && at + count <= lines.length; count++) {
    const line = lines[at + count - 1]!;
    if (isBlank(line) || isQuoted(line)) return 0;
    joined = `${joined} ${line.trim()}`.trim();
    if (joined.length > ATTRIBUTION_CHARS_MAX) return 0;
    if (/[:：]$/u.test(joined) && ATTRIBUTIONS.some((pattern) => pattern.test(joined))) return count;
  }
  return 0;
}

/** Behind `-- ` (RFC 3676 §4.3), whose blank some programs take, and what a telephone writes at the end. */
function withoutSignature(lines: readonly string[]): string[] {
  const sign = lines.findLastIndex((line) => /^--\s?$/.test(line));
  const isSigned = sign >= 0 && lines.slice(sign).filter((line) => !isBlank(line)).length <= SIGNATURE_LINES_MAX;
  const kept = isSigned ? lines.slice(0, sign) : [...lines];
  for (;;) {
    while (kept.length > 0 && isBlank(kept.at(-1)!)) kept.pop();
    const last = kept.at(-1);
    if (last === undefined || last.length > ATTRIBUTION_CHARS_MAX || !FOOTERS.test(last.trim())) return kept;
    kept.pop();
  }
}
