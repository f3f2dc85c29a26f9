import { HtmlTokenizer } from '../html/index.ts';
import { textOfHtml } from '../read-message/index.ts';

const MARKED = new Set(['div', 'blockquote', 'hr', 'p', 'table', 'span']);
/**
 * Marks of quotes in HTML, as written by Gmail, Thunderbird, Apple Mail, three kinds of Outlook, Yahoo, Proton, Zoho,
 * GMX, mail.ru and Yandex.
 */
const MARKS: Readonly<Record<string, RegExp>> = {
  class: /\b(?:gmail_quote|gmail_attr|moz-cite-prefix|yahoo_quoted|protonmail_quote|zmail_extra|tutanota_quote)\b/i,
  id: /^(?:divRplyFwdMsg|appendonsend|mail-editor-reference-message-container|OLK_SRC_BODY_SECTION|reply-intro|yahoo_quoted|ms-outlook-mobile-body-separator-line)\b/i,
  name: /^quote\b/i,
  type: /^cite\b/i,
};

/** Returns the HTML up to the first marked quote; any text after that quote is lost. */
function dropsQuoteOfHtml(html: string): string {
  const tokens = new HtmlTokenizer(html);
  for (let kind = tokens.next(); kind !== 'end'; kind = tokens.next()) {
    if (kind === 'start tag' && MARKED.has(tokens.name) && isMarked(tokens)) return html.slice(0, tokens.start);
  }
  return html;
}

const isMarked = (tokens: HtmlTokenizer): boolean =>
  Object.entries(MARKS).some(([attribute, mark]) => mark.test(tokens.readAttribute(attribute)));

/**
 * The line before a quote with its author and date, in the languages in which Gmail, Apple Mail, Thunderbird and
 * Outlook write it. Each must contain a number, as in a date, or an address, so that no ordinary sentence matches.
 */
const SOMETHING = String.raw`(?=.*(?:\d|@)).{1,250}`;
const before = (words: string, end: string): RegExp =>
  new RegExp(String.raw`^(?:${words})(?:\s|,)${SOMETHING}(?:${end})\s?[:：]$`, 'iu');
const behind = (end: string): RegExp => new RegExp(String.raw`^${SOMETHING}(?:${end})\s?[:：]$`, 'iu');

const ATTRIBUTIONS: readonly RegExp[] = [
  before('on', 'wrote|writes|said'),
  before('am|um', 'schrieb.{0,120}'),
  before(
    'le|el|il|em|op|dnia|w dniu|den|på|pe|dne|în data|la',
    'a écrit|écrit|escribió|escribio|ha scritto|scrisse|escreveu|schreef.{0,120}|pisze|napisał(?:\\(a\\)|a)?|skrev.{0,120}|napsal(?:\\(a\\)|a)?|a scris|kirjoitti',
  ),
  new RegExp(
    String.raw`^${SOMETHING}\s(?:wrote|schrieb|a écrit|escribió|ha scritto|escreveu|schreef|napisał(?:\(a\)|a)?|skrev)\s?[:：]$`,
    'iu',
  ),
  behind(
    String.raw`\s(?:kirjoitti|yazdı|şunu yazdı|пишет|написал(?:\(а\)|а)?|пише|έγραψε|írta|ezt írta|כתב|كتب|đã viết|menulis)`,
  ),
  // Gmail in Japanese writes the date and the mailbox alone.
  /^\d{4}[年/.-].{1,250}<[^<>\s]{1,250}>\s?[:：]$/u,
  behind(String.raw`(?:写道|寫道|のメール|は書きました|書きました|님이 작성|작성)`),
];

/** The line above a mail that is quoted as a whole or forwarded. */
const SEPARATORS = new RegExp(
  String.raw`^\s*[-_=>]{2,}\s?(?:${[
    'original message',
    'original appointment',
    'forwarded message',
    'reply message',
    'ursprüngliche nachricht',
    'originalnachricht',
    'weitergeleitete nachricht',
    'message d.origine',
    'message original',
    'message transféré',
    'mensaje original',
    'mensaje reenviado',
    'messaggio originale',
    'messaggio inoltrato',
    'mensagem original',
    'mensagem encaminhada',
    'oorspronkelijk bericht',
    'doorgestuurd bericht',
    'wiadomość oryginalna',
    'oryginalna wiadomość',
    'ursprungligt meddelande',
    'originalmeddelande',
    'oprindelig meddelelse',
    'opprinnelig melding',
    'alkuperäinen viesti',
    'původní zpráva',
    'eredeti üzenet',
    'mesaj original',
    'özgün ileti',
    'orijinal mesaj',
    'исходное сообщение',
    'пересылаемое сообщение',
    '原始邮件',
    '原始郵件',
    '元のメッセージ',
    'original-nachricht',
    '원본 메시지',
  ].join('|')})\s?(?:[-_=]{2,})?\s*$`,
  'iu',
);

/** Field names in the head that Outlook writes above a quoted mail, in lower case. */
const HEADER_NAMES = {
  from: new Set([
    'from',
    'von',
    'de',
    'da',
    'van',
    'od',
    'från',
    'fra',
    'lähettäjä',
    'feladó',
    'kimden',
    'gönderen',
    'от',
    'від',
    'από',
    'מאת',
    'من',
    '发件人',
    '寄件者',
    '差出人',
    '보낸 사람',
  ]),
  others: new Set([
    'sent',
    'date',
    'to',
    'subject',
    'gesendet',
    'datum',
    'an',
    'betreff',
    'envoyé',
    'à',
    'objet',
    'enviado',
    'enviado el',
    'enviada em',
    'fecha',
    'data',
    'para',
    'asunto',
    'assunto',
    'inviato',
    'oggetto',
    'a',
    'verzonden',
    'aan',
    'onderwerp',
    'wysłano',
    'wysłane',
    'do',
    'temat',
    'skickat',
    'till',
    'ämne',
    'sendt',
    'til',
    'emne',
    'lähetetty',
    'vastaanottaja',
    'aihe',
    'odesláno',
    'komu',
    'předmět',
    'elküldve',
    'címzett',
    'tárgy',
    'gönderildi',
    'tarih',
    'kime',
    'konu',
    'отправлено',
    'дата',
    'кому',
    'тема',
    'στάλθηκε',
    'προς',
    'θέμα',
    'נשלח',
    'אל',
    'נושא',
    'إلى',
    'الموضوع',
    '发送时间',
    '收件人',
    '主题',
    '寄件日期',
    '收件者',
    '主旨',
    '送信日時',
    '宛先',
    '件名',
    '보낸 날짜',
    '받는 사람',
    '제목',
  ]),
};

/** Footers that phones and mail programs add. */
const FOOTERS = new RegExp(
  `^(?:${[
    String.raw`sent (?:from|via|with) (?:my |the )?.{1,60}`,
    String.raw`get outlook for .{1,40}`,
    String.raw`von meinem .{1,40} gesendet|gesendet (?:von|mit|über) .{1,60}|diese nachricht wurde von meinem .{1,80} gesendet`,
    String.raw`envoyé (?:de|depuis|à partir de) .{1,60}|téléchargez outlook pour .{1,40}`,
    String.raw`enviado desde .{1,60}|obtener outlook para .{1,40}|enviado (?:do|pelo|a partir do) .{1,60}`,
    String.raw`inviato (?:da|dal) .{1,60}|scarica outlook per .{1,40}`,
    String.raw`verstuurd vanaf .{1,60}|verzonden (?:vanaf|vanuit|met) .{1,60}`,
    String.raw`wysłane z .{1,60}|skickat från .{1,60}|sendt fra .{1,60}|lähetetty .{1,40}`,
    String.raw`отправлено (?:с|из) .{1,60}|发自.{1,40}|從我的.{1,20}傳送|(?:iphone|ipad|android)から送信|나의 .{1,20}에서 보냄|내 .{1,20}에서 보냄`,
  ].join('|')})\\.?$`,
  'iu',
);

/** Only the beginning of a longer mail is examined, because new text is there. */
const CHARS_MAX = 256 * 1024;
/** Maximum number of lines into which an attribution line is folded. */
const ATTRIBUTION_LINES_MAX = 4;
const ATTRIBUTION_CHARS_MAX = 300;
const SIGNATURE_LINES_MAX = 20;

/**
 * Returns the new text of a reply: without the quoted mail, whichever program quoted it, and without a signature.
 * Replies between the lines of a quote are all kept. If nothing would be left, it returns the whole text.
 */
export function extractNewText({ text, html }: { text: string | null; html: string | null }): string {
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
    // A quote with marks may have replies between its lines; without marks, everything after it is quoted.
    if (next === undefined || !isQuoted(lines[next]!)) break;
    at += length - 1;
  }
  return kept;
}

const nextFilled = (lines: readonly string[], from: number): number | undefined => {
  for (let at = from; at < lines.length; at++) if (!isBlank(lines[at]!)) return at;
  return undefined;
};

/** `-----Original Message-----`, or the head of the mail below, in any language of Outlook. */
function isSeparator(lines: readonly string[], at: number): boolean {
  const line = lines[at]!;
  if (line.length <= ATTRIBUTION_CHARS_MAX && SEPARATORS.test(line)) return true;
  const from = /^[_-]{10,}\s*$/.test(line) ? nextFilled(lines, at + 1) : at;
  return from !== undefined && isHead(lines.slice(from, from + 4));
}

/** Reports whether two or more lines are header lines, one of which is From. */
function isHead(lines: readonly string[]): boolean {
  const [first, ...next] = lines.map(fieldName);
  if (first === undefined || next.length === 0) return false;
  const isFirst = HEADER_NAMES.from.has(first) && next.some((name) => HEADER_NAMES.others.has(name ?? ''));
  return isFirst || (HEADER_NAMES.others.has(first) && HEADER_NAMES.from.has(next[0] ?? ''));
}

const fieldName = (line: string): string | undefined =>
  /^\s{0,3}\*{0,2}([^:：*]{1,20}?)\s?\*{0,2}[:：]/u.exec(line)?.[1]?.trim().toLowerCase();

/** Returns how many lines form an attribution of the text that follows; 0 if there is none. */
function attributionLength(lines: readonly string[], at: number): number {
  // Do not take a greeting right above it for part of it.
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

/** Removes everything after `-- ` (RFC 3676 §4.3), whose blank some programs strip, and footers of phones. */
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
