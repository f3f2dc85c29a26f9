import { encodeText, formatDate } from './mime/index.ts';
import { normalizeAddress } from './address/index.ts';

export type NoticeAction = 'failed' | 'delayed' | 'delivered' | 'relayed' | 'expanded';

export interface NoticeRecipient {
  address: string;
  /** The enhanced status code (RFC 3463). */
  status: string;
  /** The remote server's reply, on one line. */
  diagnostic?: string;
  remote?: string;
}

export interface Notice {
  action: NoticeAction;
  /** The reporting server. */
  host: string;
  from: string;
  id: string;
  at: Date;
  arrivedAt: Date;
  /** Time until which delivery of a delayed message is retried. */
  retryUntil?: Date;
  asked: Asked;
  recipients: readonly NoticeRecipient[];
  /** The message: its headers, each with its line end, and its body if the whole message is to be returned. */
  original: { head: Buffer; body?: Buffer; subject: string };
}

interface ComposedNotice {
  subject: string;
  messageId: string;
  text: string;
  /** ASCII headers with their line ends. */
  head: string;
  body: Buffer;
  isEightBit: boolean;
}

const SUBJECTS: Record<NoticeAction, string> = {
  failed: 'Delivery failed',
  delayed: 'Delivery delayed',
  delivered: 'Message delivered',
  relayed: 'Message relayed',
  expanded: 'Message delivered to a mailing list',
};
const INTRODUCTIONS: Record<NoticeAction, string> = {
  failed: 'Your message could not be delivered to the following recipients:',
  delayed: 'Your message has not been delivered yet to the following recipients. Delivery will be retried:',
  delivered: 'Your message was delivered to the following recipients:',
  relayed:
    'Your message was relayed to a mail server that does not send delivery notices, for the following recipients:',
  expanded: 'Your message was delivered to the members of a mailing list, for the following recipients:',
};

/** Composes an RFC 3464 report: a text for people, fields for programs, and the requested part of the message. */
export function composeNotice(notice: Notice): ComposedNotice {
  const { action, host, from, id, at, asked, original } = notice;
  const subject = SUBJECTS[action];
  const messageId = `<${id}@${host}>`;
  const boundary = `=_${id}`;
  const text = formatText(notice);
  const returned = returnedPart(original);
  const head = [
    `From: Mail delivery <${from}>`,
    // A non-ASCII address is only in the envelope, so that every program can read the notice.
    `To: ${/^[!-~]+$/.test(asked.sender) ? `<${asked.sender}>` : 'undisclosed-recipients:;'}`,
    `Subject: ${subject}`,
    `Date: ${formatDate(at)}`,
    `Message-ID: ${messageId}`,
    'Auto-Submitted: auto-replied',
    'MIME-Version: 1.0',
    `Content-Type: multipart/report; report-type=delivery-status;\r\n boundary="${boundary}"`,
    ...(returned.isEightBit ? ['Content-Transfer-Encoding: 8bit'] : []),
    '',
  ].join('\r\n');
  const parts = [
    textPart('text/plain', text),
    part(['Content-Type: message/delivery-status'], Buffer.from(formatFields(notice))),
    returned.part,
  ];
  const pieces = parts.flatMap((each) => [Buffer.from(`--${boundary}\r\n`), each, Buffer.from('\r\n')]);
  const body = Buffer.concat([...pieces, Buffer.from(`--${boundary}--\r\n`)]);
  return { subject, messageId, text, head, body, isEightBit: returned.isEightBit };
}

const part = (head: readonly string[], content: Buffer): Buffer =>
  Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), content]);

function textPart(type: string, text: string): Buffer {
  const { encoding, content } = encodeText(text);
  return part([`Content-Type: ${type}; charset=utf-8`, `Content-Transfer-Encoding: ${encoding}`], content);
}

function formatText({ action, recipients, retryUntil, host, original }: Notice): string {
  const each = recipients.flatMap(({ address, status, diagnostic }) => [
    `  ${address}`,
    `    ${[status, oneLine(diagnostic ?? '')].join(' ').trim()}`,
  ]);
  const until = retryUntil ? ['', `Delivery is retried until ${formatDate(retryUntil)}.`] : [];
  const lines = [INTRODUCTIONS[action], '', ...each, ...until, '', `Subject: ${original.subject}`, '', host, ''];
  return lines.join('\r\n');
}

/** Returns the fields about the message and about each recipient (RFC 3464 §2.2 and §2.3). */
function formatFields({ action, host, at, arrivedAt, retryUntil, asked, recipients }: Notice): string {
  const message = [
    ...(asked.envelopeId === undefined ? [] : [`Original-Envelope-Id: ${asked.envelopeId}`]),
    `Reporting-MTA: dns; ${host}`,
    `Arrival-Date: ${formatDate(arrivedAt)}`,
  ];
  const groups = recipients.map(({ address, status, diagnostic, remote }) => {
    const original = asked.recipients[normalizeAddress(address)]?.original;
    return [
      ...(original === undefined ? [] : [`Original-Recipient: ${original}`]),
      `Final-Recipient: ${typed(address)}`,
      `Action: ${action}`,
      `Status: ${status}`,
      ...(remote === undefined ? [] : [`Remote-MTA: dns; ${remote}`]),
      ...(diagnostic === undefined ? [] : [`Diagnostic-Code: smtp; ${folded(oneLine(diagnostic))}`]),
      `Last-Attempt-Date: ${formatDate(at)}`,
      ...(retryUntil ? [`Will-Retry-Until: ${formatDate(retryUntil)}`] : []),
    ];
  });
  return [message, ...groups].map((lines) => `${lines.join('\r\n')}\r\n`).join('\r\n');
}

/** Returns an address with its type. Characters beyond ASCII are written as their code points (RFC 6533 §3). */
function typed(address: string): string {
  if (/^[!-~]*$/.test(address)) return `rfc822; ${address}`;
  const escaped = address.replace(/[^!-~]|[\\+=]/gu, (char) => {
    const number = (char.codePointAt(0) ?? 0).toString(16).toUpperCase();
    return `\\x{${number.padStart(2, '0')}}`;
  });
  return `utf-8; ${escaped}`;
}

const DIAGNOSTIC_MAX = 600;
const oneLine = (text: string): string => text.replace(/[^\x20-\x7e]+/g, ' ').slice(0, DIAGNOSTIC_MAX);
const folded = (text: string): string => text.replace(/(.{60,}?) (?=\S)/g, '$1\r\n ');

/**
 * Returns the part that contains the message or its headers. Headers alone may be encoded, a whole message may not
 * (RFC 3462). A message with UTF-8 in its headers has a type of its own (RFC 6533).
 */
function returnedPart({ head, body }: Notice['original']): { part: Buffer; isEightBit: boolean } {
  if (body === undefined) {
    return { part: textPart('text/rfc822-headers', head.toString()), isEightBit: false };
  }
  const whole = Buffer.concat([head, Buffer.from('\r\n'), body]);
  const isEightBit = whole.some((byte) => byte > 127);
  const encoding = isEightBit ? ['Content-Transfer-Encoding: 8bit'] : [];
  const type = head.some((byte) => byte > 127) ? 'message/global' : 'message/rfc822';
  return { part: part([`Content-Type: ${type}`, ...encoding], whole), isEightBit };
}

/** Encodes xtext (RFC 3461 §4): printable ASCII except "+" and "=" is literal, everything else is "+" and two digits. */
export const encodeXtext = (text: string): string =>
  text.replace(/[^!-~]|[+=]/g, (char) => `+${char.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`);

export type Notify = 'SUCCESS' | 'FAILURE' | 'DELAY';

export interface AskedOfRecipient {
  /** Events of which the sender wants a notice; empty for NEVER, absent if the client did not say. */
  notify?: readonly Notify[];
  /** The sender's original recipient with its type, decoded: `rfc822;someone@example.org`. */
  original?: string;
}

/** Delivery options that the client set, apart from the recipients. */
export interface Asked {
  /** The envelope sender, to which notices go; empty if none may be sent. */
  sender: string;
  /** The part of the message that a failure notice returns. */
  ret?: 'FULL' | 'HDRS';
  /** The sender's own identifier for this transaction. */
  envelopeId?: string;
  /** Deliver only over encrypted and verified connections to servers that promise the same (RFC 8689). */
  requiresTls?: true;
  /** Deliver whatever the TLS policies of the recipients' domains say (TLS-Required: No, RFC 8689 §5). */
  ignoresTlsPolicies?: true;
  /** Keyed by normalized address. */
  recipients: Readonly<Record<string, AskedOfRecipient>>;
}

/** Reads the stored form. */
export const readAsked = (json: string | null): Asked | undefined =>
  json === null ? undefined : (JSON.parse(json) as Asked);

/**
 * Reports whether a notice of this kind may be sent about the recipient: only if it was requested, and never for a
 * notice.
 */
export function wants({ sender, recipients }: Asked, address: string, what: Notify): boolean {
  return sender !== '' && (recipients[normalizeAddress(address)]?.notify?.includes(what) ?? false);
}

/** Reports whether any notice was requested. */
export const hasNotices = ({ sender, recipients }: Asked): boolean =>
  sender !== '' && Object.values(recipients).some(({ notify = [] }) => notify.length > 0);
