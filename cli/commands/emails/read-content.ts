import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { SendEmailAttachment, SendEmailRequest } from '../../../src/contract/index.ts';
import { CliFault } from '../../output/index.ts';
import { readStdin } from '../stdin.ts';

/** A body from a file, or from standard input where the file is called `-`. */
export async function readText(file: string, flag: string): Promise<string> {
  const bytes = file === '-' ? await readStdin() : await readNamed(file, flag);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    const name = file === '-' ? 'standard input' : `${flag} ${file}`;
    throw new CliFault(`${name} is not UTF-8; convert it first, for example with iconv -t utf-8`);
  }
}

export function readHeaders(fields: readonly string[]): NonNullable<SendEmailRequest['headers']> {
  const headers: Record<string, string> = {};
  for (const field of fields) {
    const colon = field.indexOf(':');
    if (colon < 1) throw new CliFault(`--header takes 'Name: value'; got ${JSON.stringify(field)}`, 'usage');
    const name = field.slice(0, colon).trim();
    const double = Object.keys(headers).find((other) => other.toLowerCase() === name.toLowerCase());
    if (double !== undefined) throw new CliFault(`--header names ${name} twice; a header can be given once`, 'usage');
    headers[name] = field.slice(colon + 1).trim();
  }
  return headers;
}

export function readTag(pair: string): { name: string; value: string } {
  const equals = pair.indexOf('=');
  if (equals < 1) throw new CliFault(`--tag takes name=value; got ${JSON.stringify(pair)}`, 'usage');
  return { name: pair.slice(0, equals), value: pair.slice(equals + 1) };
}

/** `KEY=value` is a string, as in a shell; `KEY:=5` is a number. */
export function readTemplate(id: string, pairs: readonly string[]): NonNullable<SendEmailRequest['template']> {
  const variables: Record<string, string | number> = {};
  for (const pair of pairs) {
    const found = /^(\w+)(:?)=(.*)$/s.exec(pair);
    if (!found) throw new CliFault(`--variable takes KEY=value or KEY:=number; got ${JSON.stringify(pair)}`, 'usage');
    const [, key = '', isNumber = '', value = ''] = found;
    const number = Number(value);
    if (isNumber && (value.trim() === '' || !Number.isFinite(number))) {
      throw new CliFault(`--variable ${key}:= takes a number; got ${JSON.stringify(value)}`, 'usage');
    }
    variables[key] = isNumber ? number : value;
  }
  return pairs.length === 0 ? { id } : { id, variables };
}

const SETTINGS = /;(filename|content_type|content_id)=([^;]*)$/;

/** The settings stand behind the file name, so that a name with a semicolon of its own still works. */
export async function readAttachment(given: string): Promise<SendEmailAttachment> {
  const settings: Partial<Record<'filename' | 'content_type' | 'content_id', string>> = {};
  let file = given;
  for (let found = SETTINGS.exec(file); found; found = SETTINGS.exec(file)) {
    settings[found[1] as keyof typeof settings] = found[2] ?? '';
    file = file.slice(0, found.index);
  }
  if (/^https?:\/\//i.test(file)) return { filename: nameInUrl(file), path: file, ...settings };
  const content = (await readNamed(file, '--attach')).toString('base64');
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

async function readNamed(file: string, flag: string): Promise<Buffer> {
  try {
    return await readFile(file);
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    throw new CliFault(`${flag} ${file} cannot be read: ${WHY[code] ?? code}`);
  }
}

const WHY: Record<string, string> = {
  ENOENT: 'there is no such file',
  EACCES: 'this user may not read it',
  EISDIR: 'it is a folder',
};
