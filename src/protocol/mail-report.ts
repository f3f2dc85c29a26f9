import { decodeText } from './html-references/index.ts';
import { HtmlTokenizer } from './html/index.ts';
import type { MessagePart, MessageReading } from './read-message/index.ts';
import type { Reply } from './smtp-reply/index.ts';

/** Fields of one group, by name in lower case; the first field of a name counts. */
type Fields = ReadonlyMap<string, string>;

const GROUPS_MAX = 200;

/**
 * Reads the groups of fields in a report part (RFC 3464 §2.1, RFC 5965 §3.1): fields as in a header, groups separated
 * by blank lines.
 */
function fieldGroups(content: Uint8Array): Fields[] {
  const text = Buffer.from(content.buffer, content.byteOffset, content.byteLength)
    .toString('utf8')
    .replaceAll('\r\n', '\n');
  return text
    .split(/\n[ \t]*\n/)
    .filter((group) => group.trim() !== '')
    .slice(0, GROUPS_MAX)
    .map(fieldsIn);
}

function fieldsIn(group: string): Fields {
  const fields = new Map<string, string>();
  for (const line of group.replaceAll(/\n[ \t]+/g, ' ').split('\n')) {
    const colon = line.indexOf(':');
    if (colon <= 0) continue;
    const name = line.slice(0, colon).trim().toLowerCase();
    if (!fields.has(name)) fields.set(name, line.slice(colon + 1).trim());
  }
  return fields;
}

/**
 * Reads the address in `rfc822; someone@example.org`, or in the variant `<someone@example.org>`; undefined if there is
 * none. It takes linear time, however long the value is and however many at signs it has.
 */
function addressIn(value: string | undefined): string | undefined {
  if (value === undefined) return undefined;
  const bare = value.replace(/^[a-z0-9-]+\s*;/i, '').trim();
  const address = /<([^<>\s@]+@[^<>\s@]+)>/.exec(bare)?.[1] ?? bare.split(/\s+/, 1)[0] ?? '';
  return /^[^\s<>@]+@[^\s<>@]+$/.test(address) ? address : undefined;
}

type ReadMail = Extract<MessageReading, { isRead: true }>;

const FROM_A_SERVER = /^(?:mailer-daemon|mailer_daemon|maildaemon|mail-daemon|postmaster|mdaemon)$/i;
const SUBJECTS =
  /undeliver|delivery (?:status notification|failure|failed|has failed|problem|error|report|notification|incomplete)|deliver(?:y|ed) (?:failure|failed)|failure (?:notice|delivery)|failed mail|returned (?:mail|to sender)|mail (?:delivery )?(?:failed|failure|system error|could not|error|not delivered)|(?:could not|cannot|can't) be delivered|message (?:could not be|not|undeliver)|non[- ]?remis|unzustellbar|nicht zugestellt|no se (?:pudo|puede) entregar|не доставлен|エラー通知|配信(?:不能|でき)|送信できません|rejected:|delayed mail|user unknown|warning: (?:could not send|message)|delivery (?:is )?delayed/i;
const WORDS =
  /did not reach the following recipient|could not be delivered to (?:one or more|the following)|unable to deliver (?:your|this) message|addresses had permanent (?:fatal )?(?:delivery )?errors/i;

/** Reports whether an address, of the envelope or of the header, is one that mail servers send from. */
const isOfServer = (address: string): boolean => FROM_A_SERVER.test((addressIn(address) ?? '').split('@', 1)[0] ?? '');

const failedRecipients = ({ headers }: ReadMail): string[] =>
  (headers['x-failed-recipients'] ?? '')
    .split(/[,\n]/)
    .map(addressIn)
    .filter((one) => one !== undefined);

/** Recognizes a notice by its header. Old versions of Exchange used the subject of the returned message. */
const isNotice = (reading: ReadMail): boolean =>
  failedRecipients(reading).length > 0 ||
  SUBJECTS.test(reading.subject) ||
  (isOfServer(reading.from) && WORDS.test((reading.text ?? '').slice(0, 2000)));

const isServersNotice = (reading: ReadMail): boolean => isOfServer(reading.from) && isNotice(reading);

const ANSWER_SUBJECTS =
  /^\s*(?:auto(?:matic(?:ally)?)?[ -:]*(?:re(?:ply|sponse|plied)|generated reply|réponse)|autoreply|out of (?:the )?office|on vacation|vacation|away from|abwesen|absence|réponse automatique|respuesta automática|risposta automatica|automatische antwort|i am (?:away|out)|please (?:confirm|verify)|confirm your (?:message|email|e-mail)|challenge|sender verification|your (?:message|email) (?:requires|needs) (?:confirmation|verification)|thank you for (?:your|contacting)|\[?ticket\b|we(?:'ve| have) received your|read:|gelesen:|lu ?:|not read:|recall:|re:|aw:|fwd?:|wg:)/i;

/** Recognizes an automatic reply of a person or a person's program (RFC 3834 §2), whatever it contains. */
function isAutomaticAnswer(reading: Extract<MessageReading, { isRead: true }>): boolean {
  const { headers, subject } = reading;
  const submitted = (headers['auto-submitted'] ?? '').trim().toLowerCase();
  // Exim, Postfix and Gmail call their delivery notices auto-replied as well.
  const isAnswer = submitted.startsWith('auto-replied') || submitted.startsWith('auto-notified');
  if (isAnswer && !isServersNotice(reading)) return true;
  if (ANSWER_HEADERS.some((name) => headers[name] !== undefined)) return true;
  if (/^(?:auto_reply|list)$/i.test((headers['precedence'] ?? '').trim())) return true;
  return ANSWER_SUBJECTS.test(subject);
}

/** A message with one of these headers was written by a program, or came through a mailing list. */
export const ANSWER_HEADERS = [
  'x-autoreply',
  'x-autorespond',
  'x-autoresponder',
  'x-auto-reply-from',
  'x-mail-autoreply',
  'x-vacation',
  'x-challenge',
  'list-id',
];

interface RecipientText {
  address: string | undefined;
  /** The text about the recipient. */
  about: string;
}

const TEXT_CHARS_MAX = 20_000;
const STILL_TRYING =
  /(?:will (?:retry|try|attempt)|will (?:continue|keep|be) (?:to )?(?:be )?(?:try|retr|attempt)|attempts will continue|still (?:being )?(?:retri|try|attempt|in (?:the|our) queue)|no action is required on your part|this is a warning message only|do not need to resend|delivery (?:to the following recipients? )?(?:has been|is|was) delayed|has not (?:yet )?been delivered .{0,80}yet)/is;
const ARRIVED =
  /\bsuccess(?:ful|fully)?\b|return receipt|(?<!not )(?<!not be )delivered to the (?:following )?recipient/i;

/** MDaemon calls that a warning too. A server that only announces a permanent failure sends no code yet. */
const GIVEN_UP = /(?<!not a |before reporting a )permanent(?:ly)? (?:fatal )?(?:delivery )?(?:error|failure|failed)/i;
const REFUSED = /(?:^|[\s#(])5\.\d{1,3}\.\d{1,3}(?=$|[\s):,;-])|\b5\d\d[ -]/m;

/** Reads a notice of a server that does not write RFC 3464: qmail, Exim, older servers and others. */
function readNotice(reading: ReadMail, mailFrom: string): MailReport {
  const { subject } = reading;
  const isServer = mailFrom === '' || isOfServer(mailFrom) || isOfServer(reading.from);
  if (!isServer) return { kind: 'none', because: 'it comes from nobody who delivers mail' };
  if (!isNotice(reading)) return { kind: 'none', because: 'it is no notice' };
  const text = noticeText(reading);
  const isWarning = /delayed|^warning:/i.test(subject) && !(GIVEN_UP.test(text) && REFUSED.test(text));
  const action = STILL_TRYING.test(text) || isWarning ? 'delayed' : 'failed';
  const recipients = recipientsIn(text, failedRecipients(reading)).map(({ address, about }): ReportedRecipient => {
    return { action, addresses: address === undefined ? [] : [address], ...findReason(about, text) };
  });
  if (action === 'delayed') return { kind: 'delivery', recipients };
  // A failure must state something: a reason, or at least which recipient did not get the message.
  const told = recipients.filter(({ status, diagnostic }) => status !== undefined || diagnostic !== '');
  if (told.length > 0) return { kind: 'delivery', recipients: told };
  const named = ARRIVED.test(`${subject}\n${text}`) ? [] : recipients.filter(({ addresses }) => addresses.length > 0);
  return named.length > 0
    ? { kind: 'delivery', recipients: named }
    : { kind: 'none', because: 'it says neither whom it failed nor why' };
}

/** Finds the reason for a recipient in the text of a report whose fields give none. */
function reasonInText(reading: ReadMail, addresses: readonly string[], isAlone: boolean): string {
  const text = noticeText(reading);
  const own = recipientsIn(text, []).find(({ address }) => address !== undefined && addresses.includes(address));
  if (own) return findReason(own.about, isAlone ? text : '').diagnostic;
  return isAlone ? reasonIn(text).diagnostic : '';
}

const noticeText = (reading: ReadMail): string =>
  withoutOriginal((reading.text ?? toPlainText(reading.html ?? '')).slice(0, TEXT_CHARS_MAX));

const ADDRESS = String.raw`<?([^\s<>@:;"']{1,64}@[^\s<>@:"',]{1,253})>?`;
const LINE_FORMS = [
  // qmail, Exim, and, with a mark before the address, MailEnable and others.
  new RegExp(String.raw`^[ \t]*(?:[*-][ \t]+)?${ADDRESS}:?[ \t]*$`, 'gm'),
  // Postfix before RFC 3464, and others whose line continues after the address.
  new RegExp(String.raw`^[ \t]*${ADDRESS}(?::[ \t]+| on (?=[a-z]{3}, ))(?=\S)`, 'gim'),
  // IMail, MDaemon, Domino: "Failed address: x@example.org", "User mailbox exceeds allowed size: x@example.org".
  new RegExp(
    String.raw`^(?=[^\n@]{0,80}(?:recipient|address|deliver|mailbox|userid|rcpt to|user|undeliverable))[^\n@:]{0,80}(?:: *| to +)${ADDRESS}\.?[ \t]*$`,
    'gim',
  ),
];

/** Returns each address with the lines after it, up to the next one. */
function recipientsIn(text: string, failed: readonly string[]): RecipientText[] {
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

/** Some servers give the reason before the address. If no known reason follows the address, look in the whole text. */
function findReason(about: string, text: string): { status: string | undefined; diagnostic: string } {
  for (const place of [about, text]) {
    const reason = reasonIn(place);
    if (reason.status !== undefined || reason.diagnostic !== '') return reason;
  }
  return { status: undefined, diagnostic: about === text ? '' : paragraphFrom(splitLines(about), 0) };
}

function reasonIn(about: string): { status: string | undefined; diagnostic: string } {
  const status = /(?:^|[\s#(])([45]\.[0-9]{1,2}\.[0-9]{1,3})(?=$|[\s):,;-])/m.exec(about)?.[1];
  const lines = splitLines(about);
  const coded = lines.findIndex((line) => /\b[45]\d\d[ -]|#?[45]\.\d{1,2}\.\d{1,3}/.test(line));
  const at = coded >= 0 ? coded : lines.findIndex((line) => REASONS.test(line));
  return { status, diagnostic: at < 0 ? '' : paragraphFrom(lines, at) };
}

const splitLines = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    // Headers of the returned message, if nothing separates it from the notice.
    .filter(
      (line) => !/^(?:received|message-id|date|subject|from|to|x-[a-z-]+|mime-version|content-type): /i.test(line),
    );

/** Servers wrap their lines, and a reason may span several of them. */
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

/** The returned part of the message was written by the sender and may contain anything. */
function withoutOriginal(text: string): string {
  const end = text.search(
    /^[ \t]{0,40}\|?(?:-{2,}|={2,}|_{2,})?[ \t]{0,40}(?:(?:begin|below this line is|a) (?:a |the )?(?:copy|original)|(?:this is a copy|original|returned|undelivered) (?:of )?(?:the |your )?(?:message|mail|headers)|unsent message|message (?:headers?|text) follow|(?:included is a copy|old message|the header of the original|the header and top)\b)/im,
  );
  return end < 0 ? text : text.slice(0, end);
}

/** Tags at which a line of a notice ends. */
const LINE_ENDS = new Set(['br', '/p', '/div', '/tr']);

/** Returns the text of a notice as lines, without the markup that `textOfHtml` writes for links and lists. */
function toPlainText(html: string): string {
  const tokens = new HtmlTokenizer(html.slice(0, TEXT_CHARS_MAX));
  const parts: string[] = [];
  for (let kind = tokens.next(); kind !== 'end'; kind = tokens.next()) {
    if (kind === 'text' || kind === 'cdata') {
      const isCode = kind === 'text' && (tokens.textElement === 'script' || tokens.textElement === 'style');
      const isHidden = isCode || tokens.isInForeignScript || tokens.isInForeignStyle;
      if (!isHidden) parts.push(decodeText(tokens.text).replaceAll('\u00A0', ' '));
    } else if (kind === 'start tag' || kind === 'end tag') {
      if (LINE_ENDS.has(kind === 'end tag' ? `/${tokens.name}` : tokens.name)) parts.push('\n');
    }
  }
  return parts.join('');
}

/**
 * Reports whether a message with an empty sender is one that is legitimately returned for mail: a notice, a report, or
 * an automatic reply (RFC 3834), which all go to the envelope sender. Its content can be forged; checking its form
 * keeps other mail out.
 */
export function isReturn(reading: MessageReading): boolean {
  if (!reading.isRead) return false;
  const { headers } = reading;
  const submitted = (headers['auto-submitted'] ?? 'no').trim().toLowerCase();
  if (submitted !== '' && !submitted.startsWith('no')) return true;
  if (/^\s*multipart\/report\b/i.test(headers['content-type'] ?? '')) return true;
  if (ANSWER_HEADERS.some((name) => name !== 'list-id' && headers[name] !== undefined)) return true;
  return readReport(reading, '').kind !== 'none';
}

/**
 * Parses the reply quoted in a report, as if it had come over the connection; without a reply code, it uses the status.
 */
export function readReportedReply({ status, diagnostic }: Pick<ReportedRecipient, 'status' | 'diagnostic'>): Reply {
  const said = /\b([45]\d\d)[ -](?:#?([45]\.\d{1,3}\.\d{1,3})\b)?/.exec(diagnostic);
  const enhanced = status !== undefined && !/^[45]\.0\.0$/.test(status) ? status : said?.[2];
  const code = Number(said?.[1] ?? (enhanced?.startsWith('4') || status?.startsWith('4') ? 450 : 500));
  const isTransient = status?.startsWith('4') === true || code < 500;
  return {
    code: isTransient ? 450 : code,
    lines: [diagnostic.replace(/^[\w-]{1,40};\s*/, '')],
    ...(enhanced === undefined ? {} : { enhanced }),
  };
}

export interface ReportedRecipient {
  /**
   * `delivered`, `relayed` (to a server that will send no notice) and `expanded` (to the members of a list, who may
   * each be reported on) are sent on request only; `failed` ends a delivery, and `delayed` says that it takes longer.
   */
  action: 'failed' | 'delayed' | 'delivered' | 'relayed' | 'expanded';
  /** The recipient's addresses in the notice, the original one first and the final one last. Empty if it gives none. */
  addresses: readonly string[];
  /** `5.1.1` or similar, if given. */
  status: string | undefined;
  diagnostic: string;
}

export type MailReport =
  | { kind: 'delivery'; recipients: ReportedRecipient[] }
  /** `envelopeSenders` are the senders that the report gives for the message complained about. */
  | { kind: 'complaint'; addresses: string[]; envelopeSenders: string[] }
  | { kind: 'none'; because: string };

export function readReport(reading: MessageReading, mailFrom: string): MailReport {
  if (!reading.isRead) return { kind: 'none', because: 'it cannot be read' };
  const feedback = findPart(reading, 'message/feedback-report');
  if (feedback) return readComplaint(reading, feedback);
  const status = findPart(reading, 'message/delivery-status') ?? findPart(reading, 'message/global-delivery-status');
  const report = status && readStatus(reading, status);
  if (report) return report;
  // An automatic reply of a person's program may name reasons and codes as well, so check for it first.
  if (isAutomaticAnswer(reading)) return { kind: 'none', because: 'it answers by itself' };
  return readNotice(reading, mailFrom);
}

const findPart = ({ parts }: ReadMail, type: string): MessagePart | undefined =>
  parts.find(({ contentType }) => contentType === type);

/**
 * RFC 3464: one group about the message, then one for each recipient. Returns undefined if no group has a known action.
 */
function readStatus(reading: ReadMail, { content }: MessagePart): MailReport | undefined {
  const groups = fieldGroups(content).filter((group) => group.has('action') || group.has('final-recipient'));
  const recipients = groups.map(readRecipient).filter((one) => one !== undefined);
  if (recipients.length > 0) return { kind: 'delivery', recipients: recipients.map(withReason(reading, recipients)) };
  if (!groups.some((group) => group.has('action'))) return undefined;
  return { kind: 'none', because: 'it says nothing that ends or delays a delivery' };
}

function readRecipient(group: Fields): ReportedRecipient | undefined {
  const status = /\b([245]\.\d{1,3}\.\d{1,3})\b/.exec(group.get('status') ?? '')?.[1];
  const action = parseAction(group.get('action'), status);
  if (!action) return undefined;
  const addresses = [addressIn(group.get('original-recipient')), addressIn(group.get('final-recipient'))];
  return {
    action,
    addresses: addresses.filter((address) => address !== undefined),
    status,
    // Messaging Server puts it after the status: `5.4.4 (Illegal host/domain name found)`.
    diagnostic: (group.get('diagnostic-code') ?? inParentheses(group.get('status') ?? '')).slice(0, 1000),
  };
}

/**
 * Takes the text from the first to the last parenthesis. A pattern would be quadratic, because it starts again at each
 * parenthesis.
 */
const inParentheses = (text: string): string =>
  text.includes('(') ? text.slice(text.indexOf('(') + 1, Math.max(0, text.lastIndexOf(')'))) : '';

/** OpenSMTPD, Domino and others give a general status and no diagnosis; the reason is in the text for people. */
const withReason =
  (reading: ReadMail, all: readonly ReportedRecipient[]) =>
  (one: ReportedRecipient): ReportedRecipient => {
    const isGeneral = one.status === undefined || /^5\.(?:0\.0|[345]\.\d+)$/.test(one.status);
    const isSilent = !/\p{L}{2}/u.test(one.diagnostic.replace(/^[\w-]+;/, ''));
    if (one.action !== 'failed' || !isGeneral || !isSilent) return one;
    return { ...one, diagnostic: reasonInText(reading, one.addresses, all.length === 1) || one.diagnostic };
  };

/** Returns undefined if the status contradicts the action. */
function parseAction(text: string | undefined, status: string | undefined): ReportedRecipient['action'] | undefined {
  const action = /^[a-z]+/.exec((text ?? '').trim().toLowerCase())?.[0];
  const level = status?.[0];
  if (action === 'failed' || action === 'failure') return level === '2' ? undefined : 'failed';
  if (action === 'delayed') return level === '2' ? undefined : 'delayed';
  const isSuccess = action === 'delivered' || action === 'relayed' || action === 'expanded';
  return isSuccess && (level === undefined || level === '2') ? action : undefined;
}

/** RFC 5965 and RFC 6650: only abuse is a complaint; other types report forgeries, mistakes and viruses. */
function readComplaint(reading: ReadMail, { content }: MessagePart): MailReport {
  const [fields = new Map<string, string>()] = fieldGroups(content);
  const type = (fields.get('feedback-type') ?? '').toLowerCase();
  if (type !== 'abuse') return { kind: 'none', because: `it is feedback of the type ${type.slice(0, 40) || 'none'}` };
  const original = originalHeaders(reading);
  const senders = [fields.get('original-mail-from'), original?.get('return-path')].map(addressIn);
  const addresses = [fields.get('original-rcpt-to'), fields.get('removal-recipient')].map(addressIn);
  return {
    kind: 'complaint',
    addresses: addresses.filter((address) => address !== undefined),
    envelopeSenders: senders.filter((address) => address !== undefined),
  };
}

function originalHeaders(reading: ReadMail): Fields | undefined {
  const part = findPart(reading, 'message/rfc822') ?? findPart(reading, 'text/rfc822-headers');
  if (!part) return undefined;
  const top = Buffer.from(part.content)
    .toString('utf8', 0, 64 * 1024)
    .replaceAll('\r\n', '\n');
  return fieldsIn(top.split('\n\n', 1)[0] ?? '');
}
