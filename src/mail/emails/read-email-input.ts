import type { SendEmailRequest } from '../../contract/index.ts';
import { invalidFields, refuse, type FieldFault } from '../../platform/refusal/index.ts';
import type { Mailbox } from '../../protocol/address/index.ts';
import { headerFault } from '../../protocol/mime/index.ts';
import { readAttachments, type DraftAttachment } from './read-attachments.ts';
import { readMailboxes } from './read-mailboxes.ts';
import { readScheduledAt } from './read-scheduled-at.ts';
import { tagFault } from './tag-fault.ts';

export type { DraftAttachment } from './read-attachments.ts';

/** A send with everything in it that its template supplies. */
export type CompleteEmailInput = Omit<SendEmailRequest, 'template' | 'html' | 'text' | 'reply_to'> & {
  from: string;
  subject: string;
  html?: string | null;
  text?: string | null;
  reply_to?: string | string[] | null;
};

/** One send whose every field is known to be good. */
export interface EmailDraft {
  /** Addresses as the caller wrote them, for reading back, beside what was understood of them. */
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

/** Of to, cc and bcc together. */
export const RECIPIENTS_MAX = 50;
const SUBJECT_BYTES_MAX = 998;
const BODY_BYTES_MAX = 2 * 1024 * 1024;
const HEADERS_MAX = 100;

/** Reads a send. Every field with a fault is named; a fault in an attachment is named after all others. */
export function readEmail(input: CompleteEmailInput, now: number): EmailDraft {
  const html = input.html ?? null;
  const text = input.text ?? null;
  if (html === null && text === null) {
    throw refuse('missing_required_field', { say: 'Missing required field: html or text. At least one is needed.' });
  }
  const faults: FieldFault[] = [];
  const from = readMailboxes('from', input.from, faults);
  const to = readMailboxes('to', input.to, faults);
  const cc = readMailboxes('cc', input.cc, faults);
  const bcc = readMailboxes('bcc', input.bcc, faults);
  const replyTo = readMailboxes('reply_to', input.reply_to, faults);
  const recipients = [...to.mailboxes, ...cc.mailboxes, ...bcc.mailboxes];
  const count = to.texts.length + cc.texts.length + bcc.texts.length;
  if (to.texts.length === 0) faults.push({ path: 'to', message: 'to must name at least one address.' });
  if (count > RECIPIENTS_MAX) {
    const message = `to, cc and bcc may name at most ${RECIPIENTS_MAX} addresses together; got ${count}.`;
    faults.push({ path: 'to', message });
  }
  if (replyTo.texts.length > RECIPIENTS_MAX) {
    const message = `reply_to may name at most ${RECIPIENTS_MAX} addresses; got ${replyTo.texts.length}.`;
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
    faults.push({ path: 'headers', message: `headers may hold at most ${HEADERS_MAX} fields; got ${fields.length}.` });
    return [];
  }
  for (const [name, value] of fields) {
    const fault = headerFault(name, value);
    if (fault !== undefined) faults.push({ path: `headers.${name}`, message: fault });
  }
  return fields;
}
