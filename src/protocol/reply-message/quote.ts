import { endOfBody } from '../html/index.ts';
import { formatDate } from '../mime/index.ts';
import { oneLine, shortLine } from '../mime-read/index.ts';
import { textOfHtml } from '../read-message/index.ts';
import { escapeHtml, plainHtml } from '../safe-html/index.ts';

/** A parsed message that is quoted or forwarded. */
export interface QuotedMessage {
  from: string;
  to: readonly string[];
  cc: readonly string[];
  subject: string;
  /** Time of receipt. */
  at: Date;
  text: string | null;
  html: string | null;
}

/** The author's text above the quote; at least one of the two forms is set. */
export interface Written {
  text: string | null;
  html: string | null;
}

const QUOTE_CHARS_MAX = 256 * 1024;
const NAME_BYTES_MAX = 300;
const NAMES_MAX = 50;
const CUT = '[…]';

/**
 * Returns the reply, the signature of its inbox, an attribution line and the quoted message, in the forms that the
 * reply has.
 */
export function quoteBelow(written: Written, quoted: QuotedMessage, signature: string | null): Written {
  const line = `On ${formatDate(quoted.at)}, ${shown(quoted.from)} wrote:`;
  return below(written, signature, {
    text: () => `${line}\n${quotedLines(quoteAsText(quoted))}`,
    html: () =>
      `<p>${escapeHtml(line)}</p>\n<blockquote type="cite" style="${QUOTE_STYLE}">${quoteAsHtml(quoted)}</blockquote>`,
  });
}

/** Returns new mail with the signature of the inbox below it. */
export const signBelow = (written: Written, signature: string | null): Written =>
  (signature?.trim() ?? '') === ''
    ? { text: written.text, html: written.html }
    : below(written, signature, { text: () => '', html: () => '' });

/** Returns the author's text above the forwarded message with its head. */
export function forwardBelow(written: Written, quoted: QuotedMessage, signature: string | null): Written {
  const lines = [
    '---------- Forwarded message ---------',
    `From: ${shown(quoted.from)}`,
    `Date: ${formatDate(quoted.at)}`,
    `Subject: ${clean(quoted.subject)}`,
    `To: ${listed(quoted.to)}`,
    ...(quoted.cc.length === 0 ? [] : [`Cc: ${listed(quoted.cc)}`]),
  ];
  return below(written, signature, {
    text: () => `${lines.join('\n')}\n\n${quoteAsText(quoted)}`,
    html: () => `<p>${lines.map(escapeHtml).join('<br>')}</p>\n<div>${quoteAsHtml(quoted)}</div>`,
  });
}

const QUOTE_STYLE = 'margin:0 0 0 .8ex;border-left:1px solid #ccc;padding-left:1ex';

function below(written: Written, signature: string | null, quote: { text: () => string; html: () => string }): Written {
  const sign = signature?.trim() ?? '';
  const signText = sign === '' ? '' : `-- \n${sign}\n\n`;
  const signHtml = sign === '' ? '' : `<p>-- <br>${lineBreaks(sign)}</p>\n`;
  return {
    text: written.text === null ? null : `${written.text.trimEnd()}\n\n${signText}${quote.text()}`.trimEnd(),
    html: written.html === null ? null : insertAtEnd(written.html, `\n<div>${signHtml}${quote.html()}</div>\n`),
  };
}

/** Inserts before the end of the body, if the HTML is a whole document. */
function insertAtEnd(html: string, addition: string): string {
  const end = endOfBody(html);
  return `${html.slice(0, end)}${addition}${html.slice(end)}`;
}

function quoteAsText({ text, html }: QuotedMessage): string {
  const whole = text ?? (html === null ? '' : textOfHtml(html.slice(0, QUOTE_CHARS_MAX)));
  const isCut = whole.length > QUOTE_CHARS_MAX;
  const plain = whole
    .slice(0, QUOTE_CHARS_MAX)
    .toWellFormed()
    .replaceAll(/\r\n?/g, '\n')
    .replaceAll(/[^\P{Cc}\n\t]/gu, '');
  // Cut between lines, if there are any.
  return isCut ? `${plain.slice(0, plain.lastIndexOf('\n') + 1 || plain.length).trimEnd()}\n${CUT}` : plain.trimEnd();
}

/** A line that is quoted already gets no extra blank (RFC 3676 §4.5). */
const quotedLines = (text: string): string =>
  text
    .split('\n')
    .map((line) => (line === '' || line.startsWith('>') ? `>${line}` : `> ${line}`))
    .join('\n');

function quoteAsHtml(quoted: QuotedMessage): string {
  if (quoted.html === null) return lineBreaks(quoteAsText(quoted));
  const isCut = quoted.html.length > QUOTE_CHARS_MAX;
  return `${plainHtml(quoted.html, QUOTE_CHARS_MAX)}${isCut ? `<p>${CUT}</p>` : ''}`;
}

const lineBreaks = (text: string): string => escapeHtml(text).replaceAll('\n', '<br>\n');

/** Returns plain text as a paragraph of HTML; nothing for an empty text. */
export const htmlOfText = (text: string): string => (text.trim() === '' ? '' : `<p>${lineBreaks(text.trimEnd())}</p>`);

const clean = (text: string): string => oneLine(text.replaceAll(/\p{Bidi_Control}+/gu, ''));
const shown = (mailbox: string): string => shortLine(clean(mailbox), NAME_BYTES_MAX) || 'somebody';

function listed(mailboxes: readonly string[]): string {
  const more = mailboxes.length - NAMES_MAX;
  return [...mailboxes.slice(0, NAMES_MAX).map(shown), ...(more > 0 ? [`and ${more} more`] : [])].join(', ');
}
