import type { MessageReading } from '../read-message/index.ts';
import type { MailReport, ReportedRecipient } from './report.ts';
import { failedRecipients, isNotice, isOfServer } from './servers-notice.ts';

type Read = Extract<MessageReading, { isRead: true }>;

interface Told {
  address: string | undefined;
  /** What is said of it. */
  about: string;
}

const TEXT_CHARS_MAX = 20_000;
const STILL_TRYING =
  /(?:will (?:retry|try|attempt)|will (?:continue|keep|be) (?:to )?(?:be )?(?:try|retr|attempt)|attempts will continue|still (?:being )?(?:retri|try|attempt|in (?:the|our) queue)|no action is required on your part|this is a warning message only|do not need to resend|delivery (?:to the following recipients? )?(?:has been|is|was) delayed|has not (?:yet )?been delivered .{0,80}yet)/is;
const ARRIVED =
  /\bsuccess(?:ful|fully)?\b|return receipt|(?<!not )(?<!not be )delivered to the (?:following )?recipient/i;

/** MDaemon calls that a warning too. A server that only announces it gives no code yet. */
const GIVEN_UP = /(?<!not a |before reporting a )permanent(?:ly)? (?:fatal )?(?:delivery )?(?:error|failure|failed)/i;
const REFUSED = /(?:^|[\s#(])5\.\d{1,3}\.\d{1,3}(?=$|[\s):,;-])|\b5\d\d[ -]/m;

/** The notice of a server that does not write RFC 3464: qmail, Exim and others before it or beside it. */
export function readNotice(reading: Read, mailFrom: string): MailReport {
  const { subject } = reading;
  const isServer = mailFrom === '' || isOfServer(mailFrom) || isOfServer(reading.from);
  if (!isServer) return { kind: 'none', because: 'it comes from nobody who delivers mail' };
  if (!isNotice(reading)) return { kind: 'none', because: 'it is no notice' };
  const text = noticeText(reading);
  const isWarning = /delayed|^warning:/i.test(subject) && !(GIVEN_UP.test(text) && REFUSED.test(text));
  const action = STILL_TRYING.test(text) || isWarning ? 'delayed' : 'failed';
  const recipients = recipientsIn(text, failedRecipients(reading)).map(({ address, about }): ReportedRecipient => {
    return { action, addresses: address === undefined ? [] : [address], ...reasonOf(about, text) };
  });
  if (action === 'delayed') return { kind: 'delivery', recipients };
  // A failure has to say something of itself: a reason, or at least who did not get the message.
  const told = recipients.filter(({ status, diagnostic }) => status !== undefined || diagnostic !== '');
  if (told.length > 0) return { kind: 'delivery', recipients: told };
  const named = ARRIVED.test(`${subject}\n${text}`) ? [] : recipients.filter(({ addresses }) => addresses.length > 0);
  return named.length > 0
    ? { kind: 'delivery', recipients: named }
    : { kind: 'none', because: 'it says neither whom it failed nor why' };
}

/** What the text of a report says of a recipient, where its fields give no reason. */
export function reasonInText(reading: Read, addresses: readonly string[], isAlone: boolean): string {
  const text = noticeText(reading);
  const own = recipientsIn(text, []).find(({ address }) => address !== undefined && addresses.includes(address));
  if (own) return reasonOf(own.about, isAlone ? text : '').diagnostic;
  return isAlone ? reasonIn(text).diagnostic : '';
}

const noticeText = (reading: Read): string =>
  withoutOriginal((reading.text ?? textOf(reading.html ?? '')).slice(0, TEXT_CHARS_MAX));

const ADDRESS = String.raw`<?([^\s<>@:;"']{1,64}@[^\s<>@:"',]{1,253})>?`;
const LINE_FORMS = [
  // qmail, Exim, and with a mark before it MailEnable and others.
  new RegExp(String.raw`^[ \t]*(?:[*-][ \t]+)?${ADDRESS}:?[ \t]*$`, 'gm'),
  // Postfix before RFC 3464, and others that go on behind the address.
  new RegExp(String.raw`^[ \t]*${ADDRESS}(?::[ \t]+| on (?=[a-z]{3}, ))(?=\S)`, 'gim'),
  // IMail, MDaemon, Domino: "Failed address: x@example.org", "User mailbox exceeds allowed size: x@example.org".
  new RegExp(
    String.raw`^(?=[^\n@]{0,80}(?:recipient|address|deliver|mailbox|userid|rcpt to|user|undeliverable))[^\n@:]{0,80}(?:: *| to +)${ADDRESS}\.?[ \t]*$`,
    'gim',
  ),
];

/** Each address with the lines behind it, up to the next one. */
function recipientsIn(text: string, failed: readonly string[]): Told[] {
  for (const form of LINE_FORMS) {
    const named = [...text.matchAll(form)].slice(0, 100);
    if (named.length === 0) continue;
    return named.map((match, i) => ({
      address: match[1],
      about: text.slice(match.index + (form === LINE_FORMS[0] ? match[0].length : 0), named[i + 1]?.index),
    }));
  }
  if (failed.length > 0) return failed.map((address) => ({ address, about: text }));
  return [{ address: inText(text), about: text }];
}

const inText = (text: string): string | undefined => /<([^\s<>@]{1,64}@[^\s<>@]{1,253})>/.exec(text)?.[1];

/** Some give the reason before the address. What is none that we know stands behind it. */
function reasonOf(about: string, text: string): { status: string | undefined; diagnostic: string } {
  for (const place of [about, text]) {
    const reason = reasonIn(place);
    if (reason.status !== undefined || reason.diagnostic !== '') return reason;
  }
  return { status: undefined, diagnostic: about === text ? '' : paragraphFrom(linesOf(about), 0) };
}

function reasonIn(about: string): { status: string | undefined; diagnostic: string } {
  const status = /(?:^|[\s#(])([45]\.[0-9]{1,2}\.[0-9]{1,3})(?=$|[\s):,;-])/m.exec(about)?.[1];
  const lines = linesOf(about);
  const coded = lines.findIndex((line) => /\b[45]\d\d[ -]|#?[45]\.\d{1,2}\.\d{1,3}/.test(line));
  const at = coded >= 0 ? coded : lines.findIndex((line) => REASONS.test(line));
  return { status, diagnostic: at < 0 ? '' : paragraphFrom(lines, at) };
}

const linesOf = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    // Headers of the message that comes back, where nothing sets it apart.
    .filter(
      (line) => !/^(?:received|message-id|date|subject|from|to|x-[a-z-]+|mime-version|content-type): /i.test(line),
    );

/** Servers break their lines, and give a reason in some of them. */
function paragraphFrom(lines: readonly string[], at: number): string {
  const first = lines.findIndex((line, i) => i >= at && line !== '');
  if (first < 0) return '';
  const end = lines.findIndex((line, i) => i > first && line === '');
  return lines
    .slice(first, Math.min(end < 0 ? lines.length : end, first + 4))
    .join(' ')
    .slice(0, 1000);
}

const REASONS =
  /unknown|no such|not exist|doesn't (?:exist|have)|does not (?:exist|have)|not found|not listed|not recogni[sz]ed|invalid|no valid|disabled|inactive|locked|suspended|discontinued|full|quota|exceeds|too (?:large|big)|rejected|refused|denied|unrouteable|unroutable|could ?n[o']t (?:find|be (?:found|connect))|unavailable|not available|timed? ?out|retry time(?:out)? exceeded|failing for a long time|not respond|did not accept|unable to|n'existe pas|inconnu|unbekannt|desconocido|sconosciuto/i;

/** What the server sends back of the message is the sender's own words, and may hold anything. */
function withoutOriginal(text: string): string {
  const end = text.search(
    /^[ \t]{0,40}\|?(?:-{2,}|={2,}|_{2,})?[ \t]{0,40}(?:(?:begin|below this line is|a) (?:a |the )?(?:copy|original)|(?:this is a copy|original|returned|undelivered) (?:of )?(?:the |your )?(?:message|mail|headers)|unsent message|message (?:headers?|text) follow|(?:included is a copy|old message|the header of the original|the header and top)\b)/im,
  );
  return end < 0 ? text : text.slice(0, end);
}

const textOf = (html: string): string =>
  html
    .slice(0, TEXT_CHARS_MAX)
    .replaceAll(/<(?:br|\/p|\/div|\/tr)[^<>]{0,100}>/gi, '\n')
    .replaceAll(/<[^<>]{0,1000}>/g, '')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>');
