import type { SendEmailRequest, SendEmailAttachment } from '../../contract/index.ts';
import { invalidFields, refuse, type FieldFault, type Refusal } from '../../platform/refusal.ts';
import { parseMailbox, type Mailbox } from '../../protocol/address/index.ts';
import { headerFault, contentIdFault, contentTypeFault, guessContentType } from '../../protocol/mime/index.ts';
import { parseIsoTime } from '../../protocol/iso-time.ts';
import { readHttpsUrl } from '../../protocol/https-url.ts';

export interface DraftAttachment {
  filename: string;
  contentType: string;
  contentId: string | null;
  /** Empty until it has been fetched, if there is a source. */
  content: Buffer;
  /** A file that the blob store has under another key, instead of `content`. */
  stored?: { blob: string; size: number };
  /** URL from which the content has still to be fetched. */
  source: URL | null;
  /** Its path in the email, to name it in errors: `attachments.0`. */
  field: string;
}

export const sizeOfFile = ({ content, stored }: Pick<DraftAttachment, 'content' | 'stored'>): number =>
  stored?.size ?? content.length;

const ATTACHMENTS_MAX = 100;
const FILENAME_BYTES_MAX = 255;

export function readAttachments(inputs: SendEmailAttachment[]): DraftAttachment[] {
  if (inputs.length > ATTACHMENTS_MAX) {
    throw invalidAttachment(
      'attachments',
      `attachments may have at most ${ATTACHMENTS_MAX} entries; got ${inputs.length}.`,
    );
  }
  return inputs.map((input, i) => readAttachment(input, `attachments.${i}`));
}

function readAttachment(input: SendEmailAttachment, path: string): DraftAttachment {
  const filename = input.filename ?? '';
  if (filename === '')
    throw invalidAttachment(`${path}.filename`, `${path}.filename is missing; set a file name, such as "invoice.pdf".`);
  const fault = filenameFault(filename);
  if (fault) throw invalidAttachment(`${path}.filename`, `${path}.filename ${fault}`);
  mustHaveOneSource(input, path);
  const contentType = input.content_type ?? guessContentType(filename);
  const typeFault = contentTypeFault(contentType);
  if (typeFault) throw invalidAttachment(`${path}.content_type`, `${path}.content_type: ${typeFault}`);
  const contentId = input.content_id ?? null;
  const idFault = contentId === null ? undefined : contentIdFault(contentId);
  if (idFault) throw invalidAttachment(`${path}.content_id`, `${path}.content_id: ${idFault}`);
  const content = input.content === undefined ? Buffer.alloc(0) : readContent(input.content, `${path}.content`);
  const source = input.path === undefined ? null : readSource(input.path, `${path}.path`);
  return { filename, contentType, contentId, content, source, field: path };
}

function mustHaveOneSource({ content, path: url }: SendEmailAttachment, path: string): void {
  if (content === undefined && url === undefined) {
    const say = `${path} has neither content nor path; send the bytes of the file in base64 as content, or an https URL as path.`;
    throw invalidAttachment(`${path}.content`, say);
  }
  if (content === undefined || url === undefined) return;
  throw invalidAttachment(`${path}.path`, `${path} has both content and path; send only one of them.`);
}

function readSource(text: string, path: string): URL {
  const url = readHttpsUrl(text);
  if (typeof url === 'string') throw invalidAttachment(path, `${path} ${url}`);
  return url;
}

function filenameFault(filename: string): string | undefined {
  const bytes = Buffer.byteLength(filename);
  if (bytes > FILENAME_BYTES_MAX) return `may have at most ${FILENAME_BYTES_MAX} bytes in UTF-8; got ${bytes}.`;
  if (/[\p{Cc}\u2028\u2029]/u.test(filename)) return 'must be one line without control characters.';
  return undefined;
}

/** Reads base64 text with or without line breaks, a list of bytes, or the JSON form of a Node Buffer. */
function readContent(content: NonNullable<SendEmailAttachment['content']>, path: string): Buffer {
  if (typeof content !== 'string') {
    const isList = Array.isArray(content);
    const list = isList ? content : content.data;
    if (list.every((byte) => Number.isInteger(byte) && byte >= 0 && byte <= 255)) return Buffer.from(list);
    throw invalidAttachment(path, `${isList ? path : `${path}.data`} must be a list of bytes from 0 to 255.`);
  }
  if (/^data:/i.test(content)) {
    throw invalidAttachment(
      path,
      `${path} must be base64 without a prefix; remove everything up to the comma ("data:…;base64,").`,
    );
  }
  const bytes = decodeBase64(content);
  if (!bytes) throw invalidAttachment(path, `${path} must be base64.`);
  return bytes;
}

/**
 * Decodes base64 strictly. Node's decoder skips unknown characters, and then fewer bytes come out; it also accepts the
 * letters of base64url, and uses the low byte of those beyond Latin-1. A last letter with stray bits is accepted, as by
 * other decoders.
 */
function decodeBase64(text: string): Buffer | undefined {
  const compact = (/\s/.test(text) ? text.replace(/\s+/g, '') : text).replace(/={1,2}$/, '');
  if (compact.length % 4 === 1 || /[-_\u0100-\uffff]/.test(compact)) return undefined;
  const bytes = Buffer.from(compact, 'base64');
  return bytes.length === Math.floor((compact.length * 3) / 4) ? bytes : undefined;
}

export const invalidAttachment = (path: string, message: string, because?: unknown): Refusal =>
  refuse('invalid_attachment', { say: message, errors: [{ path, message }], because });

const EARLIEST_MS = 60_000;
const LATEST_MS = 30 * 24 * 3_600_000;

/** Reads a time in ISO 8601 with its offset from UTC, from 1 minute to 30 days ahead. */
export function readScheduledAt(text: string | null, now: number, faults: FieldFault[]): number | null {
  if (text === null) return null;
  const time = parseIsoTime(text);
  if (!time?.hasOffset) {
    const message = `scheduled_at must be an ISO 8601 time with an offset, such as ${new Date(now + 3_600_000).toISOString()}.`;
    faults.push({ path: 'scheduled_at', message });
    return null;
  }
  const at = time.ms;
  if (at < now + EARLIEST_MS || at > now + LATEST_MS) {
    const message = `scheduled_at must be between 1 minute and 30 days from now; got ${new Date(at).toISOString()}.`;
    faults.push({ path: 'scheduled_at', message });
    return null;
  }
  return at;
}

/** Tags that state the kind or source of an email of ours; readers may rely on them. */
const OURS: ReadonlySet<string> = new Set(['delivery_notice', 'notice_of', 'inbound_rule', 'received_email']);

/** Returns the reason why a caller may not set a tag, undefined if it may. */
export const tagFault = ({ name }: { name: string }): string | undefined =>
  OURS.has(name)
    ? `The tag ${name} is reserved for delivery notices and forwarded mail; choose another name.`
    : undefined;

/** A send including everything that its template supplies. */
export type CompleteEmailInput = Omit<SendEmailRequest, 'template' | 'html' | 'text' | 'reply_to'> & {
  from: string;
  subject: string;
  html?: string | null;
  text?: string | null;
  reply_to?: string | string[] | null;
};

/** A send whose fields are all valid. */
export interface EmailDraft {
  /** Addresses as the caller wrote them, for display, in addition to the parsed ones. */
  headerMailboxes: { from: string; to: string[]; cc: string[]; bcc: string[]; replyTo: string[] };
  from: Mailbox;
  recipients: Mailbox[];
  subject: string;
  html: string | null;
  text: string | null;
  headers: [name: string, value: string][];
  tags: { name: string; value: string }[];
  attachments: DraftAttachment[];
  scheduledAt: number | null;
  topicId: string | null;
}

/** Limit on the total of to, cc and bcc. */
export const RECIPIENTS_MAX = 50;
const SUBJECT_BYTES_MAX = 998;
const BODY_BYTES_MAX = 2 * 1024 * 1024;
const HEADERS_MAX = 100;

/** Reads a send. Reports every field with a fault; a fault in an attachment comes after all others. */
export function readEmail(input: CompleteEmailInput, now: number): EmailDraft {
  const html = input.html ?? null;
  const text = input.text ?? null;
  if (html === null && text === null) {
    throw refuse('missing_required_field', { say: 'Missing required field: html or text. Send at least one of them.' });
  }
  const faults: FieldFault[] = [];
  const from = readMailboxes('from', input.from, faults);
  const to = readMailboxes('to', input.to, faults);
  const cc = readMailboxes('cc', input.cc, faults);
  const bcc = readMailboxes('bcc', input.bcc, faults);
  const replyTo = readMailboxes('reply_to', input.reply_to, faults);
  const recipients = [...to.mailboxes, ...cc.mailboxes, ...bcc.mailboxes];
  const count = to.texts.length + cc.texts.length + bcc.texts.length;
  if (to.texts.length === 0) faults.push({ path: 'to', message: 'to must contain at least one address.' });
  if (count > RECIPIENTS_MAX) {
    const message = `to, cc and bcc may have at most ${RECIPIENTS_MAX} addresses together; got ${count}.`;
    faults.push({ path: 'to', message });
  }
  if (replyTo.texts.length > RECIPIENTS_MAX) {
    const message = `reply_to may have at most ${RECIPIENTS_MAX} addresses; got ${replyTo.texts.length}.`;
    faults.push({ path: 'reply_to', message });
  }
  faults.push(...subjectFaults(input.subject), ...bodyFaults(html, text));
  const headers = readHeaders(input.headers ?? {}, faults);
  const tags = input.tags ?? [];
  tags.forEach((tag, i) => {
    const message = tagFault(tag);
    if (message !== undefined) faults.push({ path: `tags.${i}.name`, message });
  });
  const scheduledAt = readScheduledAt(input.scheduled_at ?? null, now, faults);
  if (faults.length > 0) throw invalidFields(faults);
  const sender = from.mailboxes[0];
  if (!sender) throw new Error('from was read without a fault and without a mailbox');
  return {
    headerMailboxes: {
      from: from.texts[0] ?? '',
      to: to.texts,
      cc: cc.texts,
      bcc: bcc.texts,
      replyTo: replyTo.texts,
    },
    from: sender,
    recipients,
    subject: input.subject,
    html,
    text,
    headers,
    tags,
    attachments: readAttachments(input.attachments ?? []),
    scheduledAt,
    topicId: input.topic_id ?? null,
  };
}

function subjectFaults(subject: string): FieldFault[] {
  const bytes = Buffer.byteLength(subject);
  if (bytes > SUBJECT_BYTES_MAX) {
    const message = `subject may have at most ${SUBJECT_BYTES_MAX} bytes in UTF-8; got ${bytes}.`;
    return [{ path: 'subject', message }];
  }
  // A line break in a subject would begin a header of the caller's choice.
  if (/[\p{Cc}\u2028\u2029]/u.test(subject.replaceAll('\t', ' '))) {
    return [{ path: 'subject', message: 'subject must be one line without control characters.' }];
  }
  return [];
}

function bodyFaults(html: string | null, text: string | null): FieldFault[] {
  const bytes = Buffer.byteLength(html ?? '') + Buffer.byteLength(text ?? '');
  if (bytes <= BODY_BYTES_MAX) return [];
  const path = html === null ? 'text' : 'html';
  return [{ path, message: `html and text may have at most ${BODY_BYTES_MAX} bytes together; got ${bytes}.` }];
}

function readHeaders(headers: Record<string, string>, faults: FieldFault[]): [string, string][] {
  const fields = Object.entries(headers);
  if (fields.length > HEADERS_MAX) {
    faults.push({ path: 'headers', message: `headers may have at most ${HEADERS_MAX} fields; got ${fields.length}.` });
    return [];
  }
  for (const [name, value] of fields) {
    const fault = headerFault(name, value);
    if (fault !== undefined) faults.push({ path: `headers.${name}`, message: fault });
  }
  return fields;
}

interface ReadMailboxes {
  texts: string[];
  mailboxes: Mailbox[];
}

/** Reads an address field, one address or a list; one fault per address, by its place in the list. */
export function readMailboxes(
  field: string,
  value: string | string[] | null | undefined,
  faults: FieldFault[],
): ReadMailboxes {
  const isList = Array.isArray(value);
  const texts = value === null || value === undefined ? [] : isList ? value : [value];
  const mailboxes: Mailbox[] = [];
  texts.forEach((text, i) => {
    const path = isList ? `${field}.${i}` : field;
    const parsed = parseMailbox(text);
    if (parsed.ok) mailboxes.push(parsed.mailbox);
    else faults.push({ path, message: `${path}: ${parsed.fault}` });
  });
  return { texts: texts.map((text) => text.trim()), mailboxes };
}
