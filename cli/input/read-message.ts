import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import type { SendEmailAttachment, SendEmailRequest } from '../../src/contract/index.ts';
import { CliFault } from '../output/index.ts';
import { wrong, type NameOption, type Place } from './read-pairs.ts';

export function readHeaders(fields: readonly string[], nameOf: NameOption): NonNullable<SendEmailRequest['headers']> {
  const headers: Record<string, string> = {};
  for (const field of fields) {
    const colon = field.indexOf(':');
    if (colon < 1) throw wrong(`${nameOf('header')} takes 'Name: value'`, field);
    const name = field.slice(0, colon).trim();
    const double = Object.keys(headers).find((other) => other.toLowerCase() === name.toLowerCase());
    if (double !== undefined)
      throw new CliFault(`${nameOf('header')} names ${name} twice; a header can be given once`, 'usage');
    headers[name] = field.slice(colon + 1).trim();
  }
  return headers;
}

export function readTag(pair: string, nameOf: NameOption): { name: string; value: string } {
  const equals = pair.indexOf('=');
  if (equals < 1) throw wrong(`${nameOf('tag')} takes name=value`, pair);
  return { name: pair.slice(0, equals), value: pair.slice(equals + 1) };
}

/** `KEY=value` is a string, as in a shell; `KEY:=5` is a number. */
export function readVariables(pairs: readonly string[], nameOf: NameOption): Record<string, string | number> {
  const variables: Record<string, string | number> = {};
  for (const pair of pairs) {
    const found = /^(\w+)(:?)=(.*)$/s.exec(pair);
    if (!found) throw wrong(`${nameOf('variable')} takes KEY=value or KEY:=number`, pair);
    const [, key = '', isNumber = '', value = ''] = found;
    const number = Number(value);
    if (isNumber && (value.trim() === '' || !Number.isFinite(number)))
      throw wrong(`${nameOf('variable')} ${key}:= takes a number`, value);
    variables[key] = isNumber ? number : value;
  }
  return variables;
}

const SETTINGS = /;(filename|content_type|content_id)=([^;]*)$/;

/** The settings stand behind the file name, so that a name with a semicolon of its own still works. */
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

/** How large they are is known before any of them is read, where that is limited. */
export async function readAttachments(given: readonly string[], place: Place): Promise<SendEmailAttachment[]> {
  const { attachmentsMibMax: most } = place;
  let bytes = 0;
  if (most !== undefined) for (const one of given) bytes += await sizeOf(one, place);
  if (most !== undefined && bytes > most * MIB) {
    const hold = `${place.nameOf('attach')} holds ${Math.ceil(bytes / MIB)} MiB of files`;
    throw new CliFault(`${hold}; from here at most ${most} MiB are sent`, 'usage');
  }
  return Promise.all(given.map((one) => readAttachment(one, place)));
}

/** A missing file is reported by the read; what the server fetches is not looked at. */
async function sizeOf(given: string, { nameOf, cwd }: Place): Promise<number> {
  const { file, isUrl } = splitSettings(given);
  if (isUrl) return 0;
  const found = await stat(path.resolve(cwd, file)).catch(() => undefined);
  // A pipe or a device may have no end.
  if (found && !found.isFile() && !found.isDirectory())
    throw new CliFault(`${nameOf('attach')} ${file} cannot be read: it is no regular file`);
  return found?.size ?? 0;
}

async function readAttachment(given: string, { nameOf, cwd }: Place): Promise<SendEmailAttachment> {
  const { file, settings, isUrl } = splitSettings(given);
  if (isUrl) return { filename: nameInUrl(file), path: file, ...settings };
  const content = (await readNamed(file, nameOf('attach'), cwd)).toString('base64');
  return { filename: path.basename(file), content, ...settings };
}

/** Empty where the URL ends in no name; the server then says that one is missing. */
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
