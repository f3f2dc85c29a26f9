import type { CreateTemplateRequest, UpdateTemplateRequest } from '../../../contract/index.ts';
import { invalidFields, refuse, type FieldFault, type Refusal } from '../../../platform/refusal/index.ts';
import { isUuid } from '../../../platform/ids/index.ts';
import { parseMailbox } from '../../../protocol/address/index.ts';
import { keysOf, parseMerge } from '../../../protocol/merge/index.ts';
import type { VersionRow } from './templates.store.ts';
import { variableFaults } from './variables.ts';

/** The limit of an email's bodies: a larger template could never be sent. */
export const BODY_BYTES_MAX = 2 * 1024 * 1024;
const SUBJECT_BYTES_MAX = 998;
const REPLY_TO_MAX = 50;

/** Everything about the fields of a template that the contract's schema cannot say. */
export function mustBeWritable(input: CreateTemplateRequest | UpdateTemplateRequest): void {
  const faults: FieldFault[] = [];
  if (input.alias && isUuid(input.alias)) {
    faults.push({ path: 'alias', message: 'alias must not have the form of a UUID; templates are also named by id.' });
  }
  faults.push(...messageFaults(input), ...variableFaults(input.variables ?? []));
  if (faults.length > 0) throw invalidFields(faults);
}

/** The fields of a message that is written once and merged for many. */
export interface WrittenMessage {
  from?: string | null | undefined;
  reply_to?: string | string[] | null | undefined;
  subject?: string | null | undefined;
  html?: string | null | undefined;
  text?: string | null | undefined;
}

export function messageFaults(input: WrittenMessage): FieldFault[] {
  const faults: FieldFault[] = [];
  if (typeof input.from === 'string') faults.push(...mailboxFaults('from', [input.from], false));
  const replyTo = readList(input.reply_to);
  if (replyTo.length > REPLY_TO_MAX) {
    const message = `reply_to may name at most ${REPLY_TO_MAX} addresses; got ${replyTo.length}.`;
    faults.push({ path: 'reply_to', message });
  } else faults.push(...mailboxFaults('reply_to', replyTo, Array.isArray(input.reply_to)));
  return [...faults, ...subjectFaults(input.subject ?? ''), ...bodyFaults(input.html ?? '', input.text ?? '')];
}

/** Checked again when the fields that a change leaves out are known. */
export function mustFit({ html, text }: Pick<VersionRow, 'html' | 'text'>): void {
  const faults = bodyFaults(html, text ?? '');
  if (faults.length > 0) throw invalidFields(faults);
}

export const readList = (value: string | string[] | null | undefined): string[] =>
  value === null || value === undefined ? [] : typeof value === 'string' ? [value] : value;

function mailboxFaults(field: string, texts: string[], isList: boolean): FieldFault[] {
  return texts.flatMap((text, i) => {
    const parsed = parseMailbox(text);
    const path = isList ? `${field}.${i}` : field;
    if (keysOf(parseMerge(text)).size > 0) {
      return [{ path, message: `${path} must not hold a variable; only subject, html and text are merged.` }];
    }
    return parsed.ok ? [] : [{ path, message: `${path}: ${parsed.fault}` }];
  });
}

function subjectFaults(subject: string): FieldFault[] {
  const bytes = Buffer.byteLength(subject);
  if (bytes > SUBJECT_BYTES_MAX) {
    const message = `subject may have at most ${SUBJECT_BYTES_MAX} bytes in UTF-8; got ${bytes}.`;
    return [{ path: 'subject', message }];
  }
  if (isOneLine(subject)) return [];
  return [{ path: 'subject', message: 'subject must be one line without control characters.' }];
}

/** A line break in a subject would allow header injection. */
export const isOneLine = (text: string): boolean => !/[\p{Cc}\u2028\u2029]/u.test(text.replaceAll('\t', ' '));

function bodyFaults(html: string, text: string): FieldFault[] {
  const bytes = Buffer.byteLength(html) + Buffer.byteLength(text);
  if (bytes <= BODY_BYTES_MAX) return [];
  const path = html === '' ? 'text' : 'html';
  return [{ path, message: `html and text may have at most ${BODY_BYTES_MAX} bytes together; got ${bytes}.` }];
}

/** The refusal for a violated unique constraint on aliases. */
export function aliasTaken(alias: string): Refusal {
  const message = `alias: another template of this team is called ${alias}; an alias names one template.`;
  return refuse('validation_error', { status: 422, say: message, errors: [{ path: 'alias', message }] });
}
