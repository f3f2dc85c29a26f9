import type { CreateTemplateRequest, UpdateTemplateRequest } from '../../../contract/index.ts';
import { invalidFields, refuse, type FieldFault, type Refusal } from '../../../platform/refusal.ts';
import { isUuid } from '../../../platform/ids.ts';
import { parseMailbox } from '../../../protocol/address/index.ts';
import { collectKeys, parseMerge } from '../../../protocol/merge.ts';
import type { VersionRow } from './templates.store.ts';

/** A declared variable, as a version stores it. */
export interface Variable {
  id: string;
  key: string;
  type: 'string' | 'number';
  fallback: string | number | null;
  createdAt: number;
  updatedAt: number;
}

interface VariableInput {
  key: string;
  type: 'string' | 'number';
  fallback_value?: string | number | null;
}

/** Variables that campaigns fill in; templates use them there without declaring them. */
export const BUILT_IN_KEYS: ReadonlySet<string> = new Set([
  'FIRST_NAME',
  'LAST_NAME',
  'EMAIL',
  'UNSUBSCRIBE_URL',
  'PREFERENCES_URL',
  'VIEW_IN_BROWSER_URL',
]);

/** Variables of the team, filled in by campaigns as well; a template may declare others under these names. */
export const TEAM_KEYS: ReadonlySet<string> = new Set(['SENDER_NAME', 'POSTAL_ADDRESS']);

/** The last two open longer names in the language that templates from elsewhere are written in. */
const RESERVED_KEYS: ReadonlySet<string> = new Set([...BUILT_IN_KEYS, 'contact', 'this']);

/** Checks the rules that the contract's schema cannot express. */
function variableFaults(variables: readonly VariableInput[]): FieldFault[] {
  const faults: FieldFault[] = [];
  const seen = new Set<string>();
  variables.forEach(({ key, type, fallback_value: fallback }, i) => {
    const at = (field: string, says: string): void => {
      const path = `variables.${i}.${field}`;
      faults.push({ path, message: `${path} ${says}` });
    };
    if (RESERVED_KEYS.has(key))
      at('key', `is ${key}, which is reserved; reserved keys are ${[...RESERVED_KEYS].join(', ')}.`);
    if (seen.has(key)) at('key', `is ${key}, which is declared already; declare each key once.`);
    seen.add(key);
    const fault = fallback === undefined || fallback === null ? undefined : valueFault(type, fallback);
    if (fault !== undefined) at('fallback_value', fault);
  });
  return faults;
}

const VALUE_CHARS_MAX = 2000;

/** Returns the fault of a value for a variable of this type; undefined if it is valid. */
export function valueFault(type: Variable['type'], value: unknown): string | undefined {
  if (typeof value !== type) return `must be a ${type}, the declared type of the variable; got ${describeKind(value)}.`;
  // JSON can spell numbers beyond the range of a double, such as 1e999.
  if (type === 'number' && !Number.isFinite(value)) return 'must be a finite number.';
  const chars = typeof value === 'string' ? countChars(value) : 0;
  if (chars > VALUE_CHARS_MAX) return `may have at most ${VALUE_CHARS_MAX} characters; got ${chars}.`;
  return undefined;
}

function describeKind(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

/** Counts code points, as the contract does, without building an array of millions for a text that is far too long. */
function countChars(text: string): number {
  let chars = 0;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 0xdc00 || unit > 0xdfff) chars++;
  }
  return chars;
}

/** Declares variables again: a key that was declared before stays the same variable. */
export function declareVariables(
  inputs: readonly VariableInput[],
  before: readonly Variable[],
  { now, newId }: { now: number; newId: () => string },
): Variable[] {
  const known = new Map(before.map((variable) => [variable.key, variable]));
  return inputs.map(({ key, type, fallback_value: given }) => {
    const fallback = given ?? null;
    const old = known.get(key);
    if (old && old.type === type && old.fallback === fallback) return old;
    return { id: old?.id ?? newId(), key, type, fallback, createdAt: old?.createdAt ?? now, updatedAt: now };
  });
}

export const readVariables = (json: string): Variable[] => JSON.parse(json) as Variable[];

/** Limit of an email's bodies: a larger template could never be sent. */
export const BODY_BYTES_MAX = 2 * 1024 * 1024;
const SUBJECT_BYTES_MAX = 998;
const REPLY_TO_MAX = 50;

/** Throws unless the fields of a template meet the rules that the contract's schema cannot express. */
export function mustBeWritable(input: CreateTemplateRequest | UpdateTemplateRequest): void {
  const faults: FieldFault[] = [];
  if (input.alias && isUuid(input.alias)) {
    faults.push({
      path: 'alias',
      message: 'alias must not have the form of a UUID, because templates are also identified by id.',
    });
  }
  faults.push(...messageFaults(input), ...variableFaults(input.variables ?? []));
  if (faults.length > 0) throw invalidFields(faults);
}

/** The fields of a message that is written once and merged for many. */
interface WrittenMessage {
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
    const message = `reply_to may have at most ${REPLY_TO_MAX} addresses; got ${replyTo.length}.`;
    faults.push({ path: 'reply_to', message });
  } else faults.push(...mailboxFaults('reply_to', replyTo, Array.isArray(input.reply_to)));
  return [...faults, ...subjectFaults(input.subject ?? ''), ...bodyFaults(input.html ?? '', input.text ?? '')];
}

/** Throws if the bodies are too large; checked again when the fields that a change omits are known. */
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
    if (collectKeys(parseMerge(text)).size > 0) {
      return [
        { path, message: `${path} must not contain a variable; only subject, html and text can contain variables.` },
      ];
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

/** Returns the refusal for a violated unique constraint on aliases. */
export function aliasTaken(alias: string): Refusal {
  const message = `alias: another template of this team has the alias ${alias}; choose a different alias.`;
  return refuse('validation_error', { status: 422, say: message, errors: [{ path: 'alias', message }] });
}
