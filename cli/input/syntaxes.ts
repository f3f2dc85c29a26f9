import type { Flag, Syntax } from '../families/index.ts';
import { typeIn, typesIn } from './event-types.ts';
import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import type { SendEmailAttachment, SendEmailRequest, TemplateVariableRequest } from '../../src/contract/index.ts';
import { CliFault } from '../output/index.ts';

/** Returns the name of an option in the place where it was typed. */
export type NameOption = (option: string) => string;

/** The place where a value was typed. */
export interface Place {
  nameOption: NameOption;
  /** The folder that relative file names are resolved against. */
  cwd: string;
  /** The limit for attachments, if there is one. */
  attachmentsMibMax?: number;
}

export const onCommandLine: NameOption = (option) => `--${option}`;

const wrong = (says: string, text: string): CliFault => new CliFault(`${says}; got ${JSON.stringify(text)}`, 'usage');

const FIELDS = [
  'email',
  'first_name',
  'last_name',
  'unsubscribed',
  'segment_ids',
  'opted_in_topic_ids',
  'opted_out_topic_ids',
];

/** Reads which columns of an import contain which fields; a field without a column is not imported. */
function readColumns(given: readonly string[], nameOption: NameOption): Record<string, string | null> {
  const map: Record<string, string | null> = {};
  for (const text of given) {
    const [, field = '', column = ''] = /^([^=]+)=([^]*)$/.exec(text) ?? [];
    if (!FIELDS.includes(field))
      throw wrong(
        `${nameOption('column')} must be a field and a column, such as email=Mail; the fields are ${FIELDS.join(', ')}`,
        text,
      );
    map[field] = column === '' ? null : column;
  }
  return map;
}

/** Reads which columns contain which properties, and their types. */
function readMappedProperties(given: readonly string[], nameOption: NameOption): Record<string, unknown> {
  const says = `${nameOption('property')} must be key=column, key:number=column or key:boolean=column`;
  return Object.fromEntries(given.map((text) => readMapped(text, says)));
}

function readMapped(text: string, says: string): [string, { column: string; type?: string }] {
  const [, key = '', type, column = ''] = /^([^:=]+)(?::(string|number|boolean))?=([^]+)$/.exec(text) ?? [];
  if (key === '') throw wrong(says, text);
  return [key, type === undefined ? { column } : { column, type }];
}

const UTM_NAMES = ['source', 'medium', 'campaign', 'term', 'content'];

/** Reads `default`, or some parameters as `source=shop,campaign=spring`. */
function readUtm(text: string, nameOption: NameOption): true | Record<string, string> {
  if (text.trim() === 'default') return true;
  return Object.fromEntries(
    splitPairs(text).map((pair): [string, string] => {
      const [, name = '', value = ''] = /^([^=]+)=([^]+)$/.exec(pair) ?? [];
      if (UTM_NAMES.includes(name)) return [name, value];
      throw wrong(
        `${nameOption('utm')} must be default, or some of ${UTM_NAMES.join(', ')}, such as source=shop,campaign=spring`,
        text,
      );
    }),
  );
}

type Value = string | number | boolean;

/** The values of a contact's properties. */
const readProperties = (given: readonly string[], nameOption: NameOption): Record<string, Value> =>
  Object.fromEntries(given.map((text) => readProperty(text, nameOption('property'))));

function readProperty(text: string, option: string): [string, Value] {
  const [, key = '', isJson, value = ''] = /^([^:=]+)(:?)=([^]*)$/.exec(text) ?? [];
  if (key === '') throw wrong(`${option} must be key=text or key:=value`, text);
  if (isJson === '') return [key, value];
  if (value === 'true' || value === 'false') return [key, value === 'true'];
  const number = Number(value);
  if (value.trim() !== '' && Number.isFinite(number)) return [key, number];
  throw wrong(`${option} needs a number, true or false after :=`, text);
}

function readTopics(
  given: readonly string[],
  nameOption: NameOption,
): { id: string; subscription: 'opt_in' | 'opt_out' }[] {
  return given.map((text) => {
    const [, id = '', subscription = ''] = /^([^=]+)=(opt_in|opt_out)$/.exec(text) ?? [];
    if (id === '') throw wrong(`${nameOption('topic')} must be ID=opt_in or ID=opt_out`, text);
    return { id, subscription: subscription as 'opt_in' };
  });
}

/** The fallback of a property, as the property's type has it. */
export function readFallback(type: string, text: string, nameOption: NameOption): string | number {
  if (type !== 'number') return text;
  const number = Number(text);
  if (text.trim() !== '' && Number.isFinite(number)) return number;
  throw wrong(`${nameOption('fallback')} of a number must be a number`, text);
}

/** Splits `key=value, key=value`: a comma belongs to a value unless another key follows it. */
const splitPairs = (text: string): string[] =>
  text
    .split(/\s*,\s*(?=[^\s,=]+=)/)
    .map((pair) => pair.trim().replace(/,$/, ''))
    .filter((pair) => pair !== '');

/** Reads a variable of a template: KEY, KEY=fallback, KEY:number or KEY:number=25. The server validates the key. */
function readVariable(declaration: string, nameOption: NameOption): TemplateVariableRequest {
  const [, key = '', type = 'string', fallback] = /^([^:=]*)(?::([^=]*))?(?:=([^]*))?$/.exec(declaration) ?? [];
  if (type !== 'string' && type !== 'number')
    throw wrong(`${nameOption('variable')} must have the type string or number`, declaration);
  if (fallback === undefined) return { key, type };
  if (type === 'string') return { key, type, fallback_value: fallback };
  const number = Number(fallback);
  if (fallback.trim() === '' || !Number.isFinite(number)) {
    throw wrong(`${nameOption('variable')} needs a number after =`, declaration);
  }
  return { key, type, fallback_value: number };
}

function readHeaders(fields: readonly string[], nameOption: NameOption): NonNullable<SendEmailRequest['headers']> {
  const headers: Record<string, string> = {};
  for (const field of fields) {
    const colon = field.indexOf(':');
    if (colon < 1) throw wrong(`${nameOption('header')} must be 'Name: value'`, field);
    const name = field.slice(0, colon).trim();
    const double = Object.keys(headers).find((other) => other.toLowerCase() === name.toLowerCase());
    if (double !== undefined)
      throw new CliFault(`${nameOption('header')} is given twice for ${name}; give each header once`, 'usage');
    headers[name] = field.slice(colon + 1).trim();
  }
  return headers;
}

function readTag(pair: string, nameOption: NameOption): { name: string; value: string } {
  const equals = pair.indexOf('=');
  if (equals < 1) throw wrong(`${nameOption('tag')} must be name=value`, pair);
  return { name: pair.slice(0, equals), value: pair.slice(equals + 1) };
}

/** `KEY=value` is a string, as in a shell; `KEY:=5` is a number. */
function readVariables(pairs: readonly string[], nameOption: NameOption): Record<string, string | number> {
  const variables: Record<string, string | number> = {};
  for (const pair of pairs) {
    const found = /^(\w+)(:?)=(.*)$/s.exec(pair);
    if (!found) throw wrong(`${nameOption('variable')} must be KEY=value or KEY:=number`, pair);
    const [, key = '', isNumber = '', value = ''] = found;
    const number = Number(value);
    if (isNumber && (value.trim() === '' || !Number.isFinite(number)))
      throw wrong(`${nameOption('variable')} ${key}:= needs a number`, value);
    variables[key] = isNumber ? number : value;
  }
  return variables;
}

const SETTINGS = /;(filename|content_type|content_id)=([^;]*)$/;

/** Settings follow the file name, so that a name that contains a semicolon still works. */
function splitSettings(given: string) {
  const settings: Partial<Record<'filename' | 'content_type' | 'content_id', string>> = {};
  let file = given;
  for (let found = SETTINGS.exec(file); found; found = SETTINGS.exec(file)) {
    settings[found[1] as keyof typeof settings] = found[2] ?? '';
    file = file.slice(0, found.index);
  }
  return { file, settings, isUrl: /^https?:\/\//i.test(file) };
}

const MIB = 1024 * 1024;

/** If sizes are limited, they are checked before any file is read. */
async function readAttachments(given: readonly string[], place: Place): Promise<SendEmailAttachment[]> {
  const { attachmentsMibMax: most } = place;
  let bytes = 0;
  if (most !== undefined) for (const one of given) bytes += await readFileSize(one, place);
  if (most !== undefined && bytes > most * MIB) {
    const hold = `${place.nameOption('attach')} adds ${Math.ceil(bytes / MIB)} MiB of files`;
    throw new CliFault(`${hold}; at most ${most} MiB can be sent`, 'usage');
  }
  return Promise.all(given.map((one) => readAttachment(one, place)));
}

/** A missing file is reported by the read; the size of files that the server fetches is not checked. */
async function readFileSize(given: string, { nameOption, cwd }: Place): Promise<number> {
  const { file, isUrl } = splitSettings(given);
  if (isUrl) return 0;
  const found = await stat(path.resolve(cwd, file)).catch(() => undefined);
  // A pipe or a device may have no end.
  if (found && !found.isFile() && !found.isDirectory())
    throw new CliFault(`${nameOption('attach')} ${file} cannot be read: it is not a regular file`);
  return found?.size ?? 0;
}

async function readAttachment(given: string, { nameOption, cwd }: Place): Promise<SendEmailAttachment> {
  const { file, settings, isUrl } = splitSettings(given);
  if (isUrl) return { filename: nameInUrl(file), path: file, ...settings };
  const content = (await readNamed(file, nameOption('attach'), cwd)).toString('base64');
  return { filename: path.basename(file), content, ...settings };
}

/** Returns the empty text if the URL ends in no name; the server then reports that one is missing. */
function nameInUrl(text: string): string {
  const last = (URL.parse(text)?.pathname ?? '').split('/').at(-1) ?? '';
  try {
    return decodeURIComponent(last);
  } catch {
    return last;
  }
}

/** A file of this machine, by whatever named it; a relative name is one in `cwd`. */
export async function readNamed(file: string, namedBy: string, cwd: string): Promise<Buffer> {
  try {
    return await readFile(path.resolve(cwd, file));
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    throw new CliFault(`${namedBy} ${file} cannot be read: ${WHY[code] ?? code}`);
  }
}

const WHY: Record<string, string> = {
  ENOENT: 'there is no such file',
  EACCES: 'this user may not read it',
  EISDIR: 'it is a folder',
};

/** The bytes of a text as UTF-8. */
export function readUtf8(bytes: Uint8Array, name: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new CliFault(`${name} is not UTF-8; convert it first, for example with iconv -t utf-8`);
  }
}

const UNIT_MS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 7 * 86_400_000 };

const DAYS = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'];
/** The hour of a day that is named without a time. */
const MORNING = 9;

/**
 * Reads a future time: a duration from now (`2h`, `in 3 days`), a day with or without a time, or a time of this day or
 * the next one, by the local clock (`tomorrow 9:00`, `monday`, `17:30`), or an ISO 8601 time.
 */
export function readTimeAhead(text: string, now: number): string {
  const [, amount = '', unit = ''] =
    /^(?:in\s+)?(\d{1,6})\s*(?:([mhdw])|(?:minute|hour|day|week)s?)$/i.exec(text.trim()) ?? [];
  const aheadMs = Number(amount) * (UNIT_MS[(unit ?? '').toLowerCase() || readUnit(text)] ?? 0);
  if (aheadMs > 0) return new Date(now + aheadMs).toISOString();
  const day = readDayAhead(text.trim().toLowerCase(), new Date(now));
  if (day !== undefined && day.getTime() > now) return day.toISOString();
  // Date.parse also accepts other words, with a meaning that was hardly intended.
  if (/^\d{4}-\d\d-\d\d/.test(text) && !Number.isNaN(Date.parse(text))) return new Date(text).toISOString();
  throw new CliFault(
    `${JSON.stringify(text)} must be a time in the future, such as 2h or 3d, tomorrow 9:00, monday, or an ISO 8601 time`,
    'usage',
  );
}

const readUnit = (text: string): string =>
  /\b(?:(m)inute|(h)our|(d)ay|(w)eek)/i.exec(text)?.[0]?.[0]?.toLowerCase() ?? '';

/** Reads `today`, `tomorrow` or a weekday with an optional time, or a time alone; undefined for anything else. */
function readDayAhead(text: string, now: Date): Date | undefined {
  const found = /^([a-z]+)?(?:(?:^|\s+)(?:at\s+)?(\d{1,2})(?::(\d\d))?\s*(am|pm)?)?$/.exec(text);
  if (!found || text === '') return undefined;
  const [, word, hour, minute, half] = found;
  // A number alone may be meant as a duration.
  if (word === undefined && minute === undefined && half === undefined) return undefined;
  const days = word === undefined ? 0 : countDaysTo(word, now);
  const hours =
    hour === undefined ? MORNING : half === undefined ? Number(hour) : (Number(hour) % 12) + (half === 'pm' ? 12 : 0);
  if (days === undefined || hours > 23 || Number(minute ?? 0) > 59 || (half !== undefined && Number(hour) > 12))
    return undefined;
  const at = (more: number): Date =>
    new Date(now.getFullYear(), now.getMonth(), now.getDate() + days + more, hours, Number(minute ?? 0));
  return word === undefined && at(0) <= now ? at(1) : at(0);
}

/** Returns the days until the named one. A weekday is never today. */
function countDaysTo(word: string, now: Date): number | undefined {
  if (word === 'today') return 0;
  if (word === 'tomorrow') return 1;
  const at = word.length < 3 ? -1 : DAYS.findIndex((day) => day.startsWith(word));
  return at < 0 ? undefined : (at - now.getDay() + 7) % 7 || 7;
}

interface Reader {
  /** Several in one text, as a form has them. */
  split?: (text: string) => string[];
  /** Each value has a key, by which it is changed or removed. */
  isKeyed?: true;
  read: (texts: readonly string[], place: Place) => unknown;
}

const READERS: Readonly<Record<Syntax, Reader>> = {
  attachment: { split: splitFiles, read: readAttachments },
  column: { split: splitPairs, read: (texts, { nameOption }) => readColumns(texts, nameOption) },
  'event type': { read: ([text = '']) => typeIn(text) },
  'event types': { read: (texts) => texts.flatMap(typesIn) },
  header: { split: splitHeaders, read: (texts, { nameOption }) => readHeaders(texts, nameOption) },
  property: { split: splitPairs, isKeyed: true, read: (texts, { nameOption }) => readProperties(texts, nameOption) },
  'property column': { split: splitPairs, read: (texts, { nameOption }) => readMappedProperties(texts, nameOption) },
  tag: { split: splitPairs, read: (texts, { nameOption }) => texts.map((text) => readTag(text, nameOption)) },
  'time ahead': { read: ([text = '']) => readTimeAhead(text, Date.now()) },
  utm: { split: splitPairs, read: (texts, { nameOption }) => readUtm(texts.join(','), nameOption) },
  topic: { split: splitPairs, read: (texts, { nameOption }) => readTopics(texts, nameOption) },
  variable: { split: splitPairs, read: (texts, { nameOption }) => readVariables(texts, nameOption) },
  'variable declaration': {
    split: splitDeclarations,
    read: (texts, { nameOption }) => texts.map((text) => readVariable(text, nameOption)),
  },
};

export const isSeveral = ({ isVariadic, isRepeatable, isList }: Flag): boolean =>
  isVariadic === true || isRepeatable === true || isList === true;

export const isKeyed = ({ syntax }: Flag): boolean => syntax !== undefined && READERS[syntax].isKeyed === true;

/** Splits a text into the values that the command line takes one by one. */
export const splitText = ({ syntax }: Flag, text: string): string[] =>
  ((syntax && READERS[syntax].split) ?? splitWords)(text);

export const readSyntax = (syntax: Syntax, texts: readonly string[], place: Place): unknown =>
  READERS[syntax].read(texts, place);

const splitWords = (text: string): string[] => text.split(/[\s,]+/).filter((part) => part !== '');

function splitFiles(text: string): string[] {
  return text.split(/\s*,\s*/).filter((part) => part !== '');
}

/** A comma belongs to a value unless another header follows it. */
function splitHeaders(text: string): string[] {
  return text.split(/\s*,\s*(?=[\w-]+:\s)/).filter((field) => field !== '');
}

/** A comma belongs to a fallback unless KEY=, KEY:type or a KEY in capitals follows it. */
function splitDeclarations(text: string): string[] {
  const parts: string[] = [];
  for (const part of text.split(/\s*,\s*/)) {
    const before = parts.at(-1);
    const isNext = before === undefined || !before.includes('=') || /^(\w+[=:]|[A-Z][A-Z0-9_]*$)/.test(part);
    if (isNext) parts.push(part);
    else parts.splice(-1, 1, `${before}, ${part}`);
  }
  return parts.filter((part) => part !== '');
}
