import { stat } from 'node:fs/promises';
import os from 'node:os';
import type { BodyOf } from '../cli/client/index.ts';
import {
  CliFault,
  fileToAttach,
  readAttachment,
  readHeaders,
  readNamed,
  readTag,
  readTemplate,
  readUtf8,
} from '../cli/output/index.ts';
import { asTyped } from './as-typed.ts';
import type { Pairs } from './dialogs/form-field.ts';

/** As the form of a send hands it in. */
interface Typed {
  text?: string;
  text_file?: string;
  html?: string;
  html_file?: string;
  attachments?: string[];
  template?: { id?: string; variables?: Pairs };
  tags?: Pairs;
  headers?: string;
}

const MIB = 1024 * 1024;
/** What the contract promises to take; an installation may take more, and the command line sends it. */
const FILES_MAX_MIB = 30;

/** An email as the API takes it, with its files read. Whatever is wrong is said of the field that it stands in. */
export async function readSend(given: Readonly<Record<string, unknown>>): Promise<Readonly<Record<string, unknown>>> {
  const { text, text_file, html, html_file, attachments, template, tags, headers, ...plain } = given as Typed;
  const { variables } = template ?? {};
  if (variables !== undefined && template?.id === undefined)
    throw new CliFault('variable belongs to a template; fill template too', 'usage');
  const body: Partial<BodyOf<'sendEmail'>> = {
    ...plain,
    ...(template?.id === undefined ? {} : { template: readTemplate(template.id, variables?.set ?? [], asTyped) }),
    ...(await readBodyPart('text', text, text_file)),
    ...(await readBodyPart('html', html, html_file)),
    ...(tags === undefined ? {} : { tags: tags.set.map((pair) => readTag(pair, asTyped)) }),
    ...(headers === undefined ? {} : { headers: readHeaders(splitHeaders(headers), asTyped) }),
    ...(attachments === undefined ? {} : { attachments: await readFiles(attachments.map(atHome)) }),
  };
  return body;
}

async function readBodyPart(name: 'text' | 'html', typed?: string, file?: string): Promise<Record<string, string>> {
  if (file === undefined) return typed === undefined ? {} : { [name]: typed };
  const field = asTyped(`${name}-file`);
  if (typed !== undefined) throw new CliFault(`${field} and ${name} are both filled; choose one`, 'usage');
  return { [name]: readUtf8(await readNamed(atHome(file), field), `${field} ${file}`) };
}

/** A comma belongs to a value unless another header stands behind it. */
const splitHeaders = (text: string): string[] => text.split(/\s*,\s*(?=[\w-]+:\s)/).filter((field) => field !== '');

/** As a shell would have written it. */
const atHome = (file: string): string => file.replace(/^~(?=\/|$)/, () => os.homedir());

/** How large they are is known before any of them is read. */
async function readFiles(given: readonly string[]): Promise<BodyOf<'sendEmail'>['attachments']> {
  let bytes = 0;
  for (const file of given.map(fileToAttach)) bytes += file === undefined ? 0 : await sizeOf(file);
  if (bytes > FILES_MAX_MIB * MIB) {
    const hold = `${asTyped('attach')} holds ${Math.ceil(bytes / MIB)} MiB of files`;
    throw new CliFault(`${hold}; from here at most ${FILES_MAX_MIB} MiB are sent`, 'usage');
  }
  return Promise.all(given.map((file) => readAttachment(file, { nameOf: asTyped })));
}

/** What is not there is said by whoever reads it. */
async function sizeOf(file: string): Promise<number> {
  const found = await stat(file).catch(() => undefined);
  // A pipe or a device may have no end.
  if (found && !found.isFile() && !found.isDirectory())
    throw new CliFault(`${asTyped('attach')} ${file} cannot be read: it is no regular file`);
  return found?.size ?? 0;
}
