import { addressParser, decodeWords } from 'postal-mime';
import { refuse, type Refusal } from '../../platform/refusal.ts';
import {
  formatMailbox,
  normalizeAddress,
  parseHeaderMailbox,
  parseMailbox,
  type Mailbox,
} from '../../protocol/address/index.ts';
import type { Asked } from '../../protocol/dsn.ts';
import { headerFault } from '../../protocol/mime/index.ts';
import {
  decodeText,
  oneLine,
  readFields,
  shortLine,
  type RawField,
  type TextPart,
} from '../../protocol/mime-read/index.ts';
import { RECIPIENTS_MAX, tagFault, type EmailDraft } from '../emails/index.ts';
import { hashRequest, type Idempotency } from './idempotency.ts';
import { identify, readFiles, type Spooled, type SubmittedMessage } from './submitted-message.ts';

const KEY_HEADERS: ReadonlySet<string> = new Set(['rasket-idempotency-key', 'resend-idempotency-key']);
const KEY_CHARS_MAX = 256;

/**
 * Headers that do not count towards the request: libraries and servers write them anew at each attempt, or they
 * describe the encoding of parts whose contents count.
 */
const WRITTEN_ANEW: ReadonlySet<string> = new Set(['date', 'message-id', 'received', 'mime-version', 'dkim-signature']);
const ANEW_FAMILIES = ['content-', 'arc-'];
/** Headers that count by their parsed values. */
const READ: ReadonlySet<string> = new Set(['from', 'reply-to', 'subject']);

interface HeaderValues {
  fields: readonly RawField[];
  /** The headers that are sent with the message. */
  kept: readonly RawField[];
  draft: EmailDraft;
  asked: Asked | undefined;
}

/**
 * Reads the idempotency key. A client with more recipients than one transaction accepts correctly sends the same
 * message with the same key to the next ones, so the recipients are part of the key. Requests are the same if content,
 * files, tags, requested notices and headers are, as with POST /emails.
 */
async function readIdempotency(
  { fields, kept, draft, asked }: HeaderValues,
  identifyFiles: () => Promise<(readonly string[])[]>,
): Promise<Idempotency | undefined> {
  const written = fields.filter(({ lower }) => KEY_HEADERS.has(lower)).map(({ value }) => value.trim());
  const [key] = written;
  if (key === undefined) return undefined;
  if (written.some((other) => other !== key)) throw unreadable('it has two different idempotency keys');
  if (key === '' || key.length > KEY_CHARS_MAX) {
    throw unreadable(`its idempotency key must be 1 to ${KEY_CHARS_MAX} characters long`);
  }
  const recipients = draft.recipients.map(({ address }) => normalizeAddress(address)).sort();
  const { from, replyTo } = draft.headerMailboxes;
  const { subject, html, text, tags } = draft;
  const said = { from, replyTo, subject, html, text, tags, headers: headersIn(kept), files: await identifyFiles() };
  return {
    key: `smtp ${hashRequest('recipients', { key, recipients })}`,
    requestHash: hashRequest('submit', { ...said, asked: asked ?? null }),
  };
}

/** Returns the headers normalized: unfolded, and sorted by name. */
function headersIn(kept: readonly RawField[]): [name: string, value: string][] {
  return kept
    .filter(({ lower }) => !WRITTEN_ANEW.has(lower) && !READ.has(lower))
    .filter(({ lower }) => !ANEW_FAMILIES.some((family) => lower.startsWith(family)))
    .map(({ lower, value }): [string, string] => [lower, value.replaceAll(/\s+/g, ' ').trim()])
    .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
}

interface Submission {
  /**
   * One draft for each fifty recipients of the envelope, the most that an email may have; they differ in nothing else.
   */
  drafts: EmailDraft[];
  message: SubmittedMessage;
  idempotency: Idempotency | undefined;
}

export interface SubmissionEnvelope {
  recipients: readonly Mailbox[];
  /** The protocol by which it arrived, as RFC 3848 names it. */
  protocol: string;
  /** Options that the client gave in addition to the recipients (DSN, REQUIRETLS). */
  asked?: Asked | undefined;
}

const TAG_HEADER = 'x-rasket-tag';
/**
 * Headers that are dropped: some would disclose recipients of the envelope, the others only a receiving server may
 * write.
 */
const DROPPED = new Set([
  'bcc',
  'resent-bcc',
  'return-path',
  'delivered-to',
  'received-spf',
  'authentication-results',
  TAG_HEADER,
  ...KEY_HEADERS,
]);
/** RFC 5322 §3.6: allowed once, since readers would differ on which of two they believe. */
const ONCE = [
  'from',
  'sender',
  'reply-to',
  'to',
  'cc',
  'subject',
  'date',
  'message-id',
  'mime-version',
  'content-type',
  'content-transfer-encoding',
];
/** Maximum number of hops, more than any route has: a message with more is in a loop (RFC 5321 §6.3). */
const HOPS_MAX = 50;
const SENDERS = new Set(['sender', 'resent-from', 'resent-sender']);
const TAGS_MAX = 50;
const TAG = /^([A-Za-z0-9_-]{1,256})=([A-Za-z0-9_-]{1,256})$/;
const TEXT_BYTES_MAX = 2 * 1024 * 1024;
const SUBJECT_BYTES_MAX = 998;
const MESSAGE_ID_MAX = 998;
const HEADERS_SHOWN_MAX = 100;

/**
 * Reads a message that a client composed as a send; refuses content that different readers would interpret differently.
 */
export async function readSubmitted(
  spooled: Spooled,
  { recipients, protocol, asked }: SubmissionEnvelope,
): Promise<Submission> {
  const fault = spooled.fault ?? spooled.longLine;
  if (fault !== undefined) throw unreadable(fault);
  const fields = readFields(spooled.head);
  if ('fault' in fields) throw unreadable(fields.fault);
  mustBeSendable(fields);
  const findValue = (name: string): string | undefined => fields.find(({ lower }) => lower === name)?.value;
  const from = readFrom(findValue('from'));
  const { html, text } = await readTexts(spooled);
  const kept = fields.filter(({ lower }) => !DROPPED.has(lower));
  const shared: Omit<EmailDraft, 'headerMailboxes' | 'recipients'> = {
    from,
    subject: shortLine(unfolded(findValue('subject') ?? ''), SUBJECT_BYTES_MAX),
    html,
    text,
    headers: shownHeaders(kept),
    tags: readTags(fields),
    attachments: [],
    scheduledAt: null,
    topicId: null,
  };
  const writeDraft = (to: readonly Mailbox[]): EmailDraft => ({
    ...shared,
    headerMailboxes: { from: formatMailbox(from), ...readVisible(findValue, to) },
    recipients: [...to],
  });
  const files = await readFiles(spooled);
  const head = kept.map(({ raw }) => (raw.endsWith('\r\n') ? raw : `${raw}\r\n`)).join('');
  const messageId = findValue('message-id')?.replaceAll('\r\n', '').trim() ?? '';
  return {
    drafts: groupRecipients(recipients).map(writeDraft),
    message: {
      spooled,
      head: messageId === '' ? without(kept, 'message-id') : head,
      messageId: messageId === '' ? null : messageId.slice(0, MESSAGE_ID_MAX),
      hasDate: findValue('date') !== undefined,
      protocol,
      asked,
      files,
      needsSmtpUtf8: /[^\0-\x7f]/.test(head),
    },
    idempotency: await readIdempotency({ fields, kept, draft: writeDraft(recipients), asked }, () =>
      Promise.all(files.map((file) => identify(spooled, file))),
    ),
  };
}

/** Groups the recipients in their order, as many as one email may have; an address that is named twice counts once. */
function groupRecipients(recipients: readonly Mailbox[]): Mailbox[][] {
  const distinct = new Map(recipients.map((mailbox) => [normalizeAddress(mailbox.address), mailbox]));
  if (distinct.size <= RECIPIENTS_MAX) return [[...recipients]];
  const all = [...distinct.values()];
  const groups: Mailbox[][] = [];
  for (let at = 0; at < all.length; at += RECIPIENTS_MAX) groups.push(all.slice(at, at + RECIPIENTS_MAX));
  return groups;
}

const without = (fields: readonly RawField[], name: string): string =>
  fields.flatMap(({ lower, raw }) => (lower === name ? [] : [raw])).join('');

const unfolded = (value: string): string => decodeWords(value.replaceAll('\r\n', '').trim());

function mustBeSendable(fields: readonly RawField[]): void {
  for (const name of ONCE) {
    const count = fields.filter(({ lower }) => lower === name).length;
    if (count > 1)
      throw unreadable(`it has ${count} headers ${name}, and mail programs would not agree on which one applies`);
  }
  if (fields.filter(({ lower }) => lower === 'received').length > HOPS_MAX) {
    throw unreadable(`it has passed more than ${HOPS_MAX} servers, which looks like a mail loop`);
  }
}

function readFrom(value: string | undefined): Mailbox {
  if (value === undefined) throw unreadable('it has no header From');
  const parsed = parseHeaderMailbox(value);
  if (!parsed.ok)
    throw unreadable(`its header From must be one mailbox, as in Name <local@example.com>. ${parsed.fault}`);
  return { ...parsed.mailbox, name: oneLine(decodeWords(parsed.mailbox.name)) };
}

const readAddresses = (value: string): { name: string; address: string }[] =>
  addressParser(value.replaceAll('\r\n', ''), { flatten: true }).flatMap(({ name, address }) =>
    address === undefined ? [] : [{ name, address }],
  );

/** Normalizes an address for comparison: the header parser removes quotes that the envelope keeps. */
const unquoted = (address: string): string =>
  normalizeAddress(
    address.replace(/^"(.*)"(@[^@]*)$/s, (_, local: string, rest: string) => local.replace(/\\(.)/gs, '$1') + rest),
  );

/** Returns To and Cc as far as they are in the envelope; recipients of the envelope that are in neither are bcc. */
function readVisible(
  findValue: (name: string) => string | undefined,
  recipients: readonly Mailbox[],
): Omit<EmailDraft['headerMailboxes'], 'from'> {
  const left = new Map(recipients.map((mailbox) => [unquoted(mailbox.address), mailbox]));
  const take = (field: string): string[] =>
    readAddresses(findValue(field) ?? '').flatMap(({ name, address }) => {
      const key = unquoted(address);
      const mailbox = left.get(key);
      if (!mailbox) return [];
      left.delete(key);
      return [formatMailbox({ name: oneLine(name), address: mailbox.address })];
    });
  const to = take('to');
  const cc = take('cc');
  const replyTo = readAddresses(findValue('reply-to') ?? '').flatMap(({ name, address }) => {
    const parsed = parseMailbox(address);
    return parsed.ok ? [formatMailbox({ name: oneLine(name), address: parsed.mailbox.address })] : [];
  });
  return { to, cc, bcc: [...left.values()].map(({ address }) => address), replyTo };
}

/** Lists the headers that the team sees in its events, as for a send; those that name a sender are never left out. */
function shownHeaders(fields: readonly RawField[]): [string, string][] {
  const all = fields.map(({ lower, name, value }) => ({ lower, name, value: value.replaceAll('\r\n', '').trim() }));
  const senders = all.filter(({ lower }) => SENDERS.has(lower));
  const others = all.filter(
    ({ lower, name, value }) => !SENDERS.has(lower) && lower !== 'reply-to' && headerFault(name, value) === undefined,
  );
  return [...senders, ...others].slice(0, HEADERS_SHOWN_MAX).map(({ name, value }) => [name, value]);
}

function readTags(fields: readonly RawField[]): EmailDraft['tags'] {
  const written = fields.filter(({ lower }) => lower === TAG_HEADER);
  if (written.length > TAGS_MAX)
    throw unreadable(`it has ${written.length} headers X-Rasket-Tag; at most ${TAGS_MAX} are allowed`);
  return written.map(({ value }) => {
    const found = TAG.exec(value.replaceAll('\r\n', '').trim());
    const [, name, tag] = found ?? [];
    const fault = name === undefined ? undefined : tagFault({ name });
    if (fault !== undefined) throw unreadable(`a header X-Rasket-Tag is not valid: ${fault}`);
    if (name !== undefined && tag !== undefined) return { name, value: tag };
    throw unreadable('a header X-Rasket-Tag is not name=value, each 1 to 256 letters, digits, underscores and hyphens');
  });
}

/** Returns one text and one HTML, as a mail program shows them; several of a kind are joined. */
async function readTexts(spooled: Spooled): Promise<Pick<EmailDraft, 'html' | 'text'>> {
  const encoded = spooled.texts.reduce((sum, { start, end }) => sum + end - start, 0);
  // Quoted-printable triples what it encodes.
  if (encoded > TEXT_BYTES_MAX * 3) throw tooMuchText();
  const read = async (type: TextPart['type']): Promise<string | null> => {
    const parts: string[] = [];
    for (const part of spooled.texts) {
      if (part.type === type) parts.push(decodeText(await spooled.read(part.start, part.end), part));
    }
    // PostgreSQL cannot store NUL, which means nothing to a reader.
    return parts.length === 0 ? null : parts.join('\n').replaceAll('\0', '\ufffd').toWellFormed();
  };
  const html = await read('text/html');
  const text = await read('text/plain');
  if (Buffer.byteLength(html ?? '') + Buffer.byteLength(text ?? '') > TEXT_BYTES_MAX) throw tooMuchText();
  return { html, text };
}

const tooMuchText = (): Refusal =>
  unreadable(`its text and HTML have more than ${TEXT_BYTES_MAX} bytes together; send long content as an attachment`);

/** Returns the refusal of a message that a client composed; `fault` is a sentence, with or without its full stop. */
const unreadable = (fault: string): Refusal =>
  refuse('validation_error', { status: 400, say: `The message cannot be sent: ${fault.replace(/\.$/, '')}.` });
