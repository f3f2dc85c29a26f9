import type { AnswerOf } from '../client/index.ts';
import { clean, cleanLines } from './clean.ts';
import type { Terminal } from './terminal.ts';
import { formatTime } from './time.ts';

/** The content of these elements is no text. */
const HIDDEN = new Set(['head', 'script', 'style', 'title', 'template', 'svg']);
const BREAKS = new Set(['br', 'p', 'table', 'ul', 'ol', 'pre', 'hr', 'h1', 'h2', 'h3', 'h4']);
/** These begin and end a line, without a blank line between two of them. */
const LINES = new Set(['div', 'tr', 'li']);
const LIST_MARK = '- ';
const NAMES: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
  hellip: '…',
  ndash: '–',
  mdash: '—',
  lsquo: '‘',
  rsquo: '’',
  ldquo: '“',
  rdquo: '”',
  copy: '©',
  euro: '€',
  middot: '·',
  bull: '•',
};

/** Deeper levels of quotes get no more marks. */
const QUOTE_MARKS_MAX = 30;

/**
 * Converts HTML mail to text, with the targets of its links after their words and `>` before each line of a quote.
 * Nothing is fetched: a picture is replaced by its description. A single pass, whatever the input.
 */
export function textOfHtml(html: string): string {
  const parts: string[] = [];
  /** True if there is no text, or only the mark of a list, on the current line. */
  let isAtStart = true;
  let isMarked = false;
  const add = (part: string): void => {
    parts.push(part);
    const blank = part.slice(part.lastIndexOf('\n') + 1).trim() === '';
    if (blank && !part.includes('\n')) return;
    isAtStart = blank;
    isMarked = false;
  };
  const mark = (): void => {
    add(isAtStart && !isMarked ? LIST_MARK : `\n${LIST_MARK}`);
    isAtStart = true;
    isMarked = true;
  };
  /** The levels of quotes, with the number of parts before each. */
  const quotes: { from: number; depth: number }[] = [{ from: 0, depth: 0 }];
  const links: { href: string; from: number }[] = [];
  let at = 0;
  while (at < html.length) {
    const open = html.indexOf('<', at);
    const end = open === -1 ? html.length : open;
    if (end > at) add(decode(html.slice(at, end).replaceAll(/\s+/g, ' ')));
    if (open === -1) break;
    if (html.startsWith('<!--', open)) {
      at = indexAfter(html, '-->', open + 4);
      continue;
    }
    at = indexAfter(html, '>', open + 1);
    const tag = html.slice(open + 1, at - 1);
    const name = /^\/?([a-z][a-z0-9]*)/i.exec(tag)?.[1]?.toLowerCase() ?? '';
    const isEnd = tag.startsWith('/');
    if (HIDDEN.has(name) && !isEnd) at = indexAfterEndTag(html, name, at);
    else if (name === 'a') link(parts, links, isEnd ? undefined : (attribute(tag, 'href') ?? ''));
    else if (name === 'img') add(formatAlt(attribute(tag, 'alt')));
    else if (name === 'blockquote') {
      add('\n');
      const depth = Math.max(0, (quotes.at(-1)?.depth ?? 0) + (isEnd ? -1 : 1));
      quotes.push({ from: parts.length, depth });
    } else if (name === 'li' && !isEnd) mark();
    else if (LINES.has(name) ? !isAtStart : BREAKS.has(name) && !isMarked) add('\n');
    else if ((name === 'td' || name === 'th') && isEnd) add('\t');
  }
  return quotes
    .map(({ from, depth }, at) => quoteLines(tidy(parts.slice(from, quotes[at + 1]?.from).join('')), depth))
    .filter((text) => text !== '')
    .join('\n');
}

function quoteLines(text: string, depth: number): string {
  if (depth === 0 || text === '') return text;
  const marks = '>'.repeat(Math.min(depth, QUOTE_MARKS_MAX));
  return text
    .split('\n')
    .map((line) => (line === '' || line.startsWith('>') ? `${marks}${line}` : `${marks} ${line}`))
    .join('\n');
}

const formatAlt = (alt: string | undefined): string =>
  alt === undefined || alt.trim() === '' ? '' : `[${alt.trim()}]`;

function indexAfter(html: string, what: string, from: number): number {
  const at = html.indexOf(what, from);
  return at === -1 ? html.length : at + what.length;
}

function indexAfterEndTag(html: string, name: string, from: number): number {
  const end = new RegExp(`</${name}[^>]*>`, 'gi');
  end.lastIndex = from;
  return end.exec(html) ? end.lastIndex : html.length;
}

function link(parts: string[], links: { href: string; from: number }[], href: string | undefined): void {
  if (href !== undefined) return void links.push({ href, from: parts.length });
  const begun = links.pop();
  if (!begun || !/^(https?|mailto):/i.test(begun.href)) return;
  const words = parts.slice(begun.from).join('').trim();
  if (words !== '' && !begun.href.replace(/^mailto:/i, '').startsWith(words)) parts.push(` <${begun.href}>`);
}

function attribute(tag: string, name: string): string | undefined {
  const found = new RegExp(`\\s${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)'|([^\\s"'>]+))`, 'i').exec(tag);
  const value = found?.[1] ?? found?.[2] ?? found?.[3];
  return value === undefined ? undefined : decode(value);
}

const decode = (text: string): string =>
  text.replaceAll(/&(#x[0-9a-f]{1,6}|#\d{1,7}|[a-z]{2,8});/gi, (whole, name: string) => {
    if (!name.startsWith('#')) return NAMES[name.toLowerCase()] ?? whole;
    const code = /^#x/i.test(name) ? Number.parseInt(name.slice(2), 16) : Number(name.slice(1));
    return code > 0 && code <= 0x10_ff_ff && !(code >= 0xd8_00 && code <= 0xdf_ff) ? String.fromCodePoint(code) : '�';
  });

const tidy = (text: string): string =>
  text
    .split('\n')
    .map((line) => line.trim().replaceAll(/[ \u00A0\t]+/g, (blanks) => (blanks.includes('\t') ? '  ' : ' ')))
    .join('\n')
    .replaceAll(/\n{3,}/g, '\n\n')
    .trim();

export type ThreadEmail = AnswerOf<'getInboxThreadEmail'>;

/** Returns the body as text: never a picture, never anything that controls the terminal. */
export function formatEmailBody({ text, html }: Pick<ThreadEmail, 'text' | 'html'>): string {
  const said = text !== null && text.trim() !== '' ? text : textOfHtml(html ?? '');
  return cleanLines(said).trimEnd();
}

/** Returns the sender, recipients and time. */
export function formatEmailHead(terminal: Terminal, email: ThreadEmail): string[] {
  const {
    direction,
    from,
    reply_to: replyTo,
    to,
    cc,
    bcc,
    received_at: at,
    attachments,
    verdict,
    last_event: state,
  } = email;
  const people = [...to, ...cc.map((one) => `${one} (cc)`), ...bcc.map((one) => `${one} (bcc)`)];
  const way = direction === 'outbound' ? (state ?? 'sent') : describeTrust(verdict);
  const files = attachments.map(
    ({ filename, size }) => `${filename ?? 'a file'}${size === null ? '' : ` (${size} bytes)`}`,
  );
  const lines = [
    `From: ${from}${way === '' ? '' : `  (${way})`}`,
    ...(direction === 'inbound' && isElsewhere(from, replyTo) ? [`Reply-To: ${replyTo.join(', ')}`] : []),
    `To: ${people.join(', ')}`,
    `Date: ${formatTime(terminal, at)}`,
    ...(files.length > 0 ? [`Files: ${files.join(', ')}`] : []),
  ];
  return lines.map(clean);
}

const bare = (mailbox: string): string => (/<([^<>]*)>\s*$/.exec(mailbox)?.[1] ?? mailbox).trim().toLowerCase();

/** Reports whether an answer goes to somebody other than the shown sender. */
const isElsewhere = (from: string, replyTo: readonly string[]): boolean =>
  replyTo.some((one) => bare(one) !== bare(from));

/** Describes how far the claimed sender can be trusted. */
function describeTrust(verdict: ThreadEmail['verdict']): string {
  if (verdict === 'suspicious') return 'probably forged';
  return verdict === 'unauthenticated' ? 'not proven' : '';
}

/** Quotes an email in an answer, as mail programs do. */
export const quote = (text: string): string =>
  text
    .split('\n')
    .map((line) => (line === '' ? '>' : line.startsWith('>') ? `>${line}` : `> ${line}`))
    .join('\n');
