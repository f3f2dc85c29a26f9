import { constants } from 'node:fs';
import { copyFile, lstat, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { LinkedFile } from '../client/index.ts';
import { CliFault, type CommandProcess } from '../output/index.ts';
import type { Session } from './declare.ts';

const NAME_BYTES_MAX = 200;

/**
 * Returns a name for a file in this folder, made from the name that an untrusted sender chose: it leads nowhere else,
 * is not hidden, is no option of a command and shows all its characters.
 */
export function harmlessName(filename: string): string {
  const name = filename
    .toWellFormed()
    .replaceAll(UNSAFE, '_')
    .replace(/^[-. ]+/, '_')
    .replace(/[. ]+$/, '_');
  return shorten(name === '' ? 'attachment' : name);
}

/** Path separators, characters with a meaning on Windows, control and format characters. ZWJ makes emoji. */
const UNSAFE = /["*/:<>?\\|\p{Cc}\u2028\u2029\uFFFD]|(?![\u200c\u200d])\p{Cf}/gu;

/** Shortens a name to what every file system accepts, with its extension, so that it still opens. */
function shorten(name: string): string {
  if (Buffer.byteLength(name) <= NAME_BYTES_MAX) return name;
  const dot = name.lastIndexOf('.');
  const extension = dot > 0 && Buffer.byteLength(name.slice(dot)) <= 16 ? name.slice(dot) : '';
  let kept = '';
  for (const char of name) {
    if (Buffer.byteLength(kept + char + extension) > NAME_BYTES_MAX) break;
    kept += char;
  }
  return kept + extension;
}

export interface DownloadOptions {
  output?: string;
  force?: boolean;
}

/** A file that the API links to; `found` is what `--json` prints of it. */
interface Downloadable extends LinkedFile {
  found: object;
  url: string;
  filename: string;
}

export async function saveDownload(
  { client, terminal, process, isJson }: Session,
  { found, url, filename, ...linked }: Downloadable,
  { output, force = false }: DownloadOptions,
): Promise<void> {
  if (output === '-') {
    // Text of untrusted senders must not control the terminal, and a file must remain unchanged.
    if (process.stdout.isTTY)
      throw new CliFault(
        'the file would be printed to the terminal unchanged; use --output FILE, or --output - | less',
        'usage',
      );
    return pour(await client.download(linked, url), process.stdout);
  }
  const file = output ?? harmlessName(filename);
  await mustBeFree(process, file, force);
  await save(process, await client.download(linked, url), file, force);
  if (isJson) return terminal.printJson(found);
  terminal.print(terminal.isTty ? `Saved  ${JSON.stringify(file)}` : file);
}

/** Writes to standard output, as fast as it is read. */
export async function pour(content: AsyncIterable<Uint8Array>, out: CommandProcess['stdout']): Promise<void> {
  for await (const chunk of content) {
    if (!out.write(chunk)) await new Promise<void>((resolve) => out.once('drain', resolve));
  }
}

/**
 * Writes to a temporary file and renames it, so that a broken connection leaves no partial file and the previous one
 * intact.
 */
export async function save(
  { cwd }: Pick<CommandProcess, 'cwd'>,
  content: AsyncIterable<Uint8Array>,
  file: string,
  force: boolean,
): Promise<void> {
  const at = path.resolve(cwd(), file);
  const part = `${at}.${process.pid}.part`;
  try {
    await writeFile(part, content, { flag: 'wx' });
    // A file that has appeared meanwhile is kept; a link of that name is replaced and never followed.
    if (force) await rename(part, at);
    else await copyFile(part, at, constants.COPYFILE_EXCL);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') throw isThere(file);
    if (code !== undefined && code in WHY) throw new CliFault(`${file} cannot be written: ${WHY[code]}`);
    throw error;
  } finally {
    await rm(part, { force: true }).catch(() => undefined);
  }
}

/** Before anything is fetched. */
export async function mustBeFree({ cwd }: Pick<CommandProcess, 'cwd'>, file: string, force: boolean): Promise<void> {
  if (!force && (await lstat(path.resolve(cwd(), file)).catch(() => undefined))) throw isThere(file);
}

const isThere = (file: string): CliFault =>
  new CliFault(`${file} already exists; choose another name with --output, or replace it with --force`);

const WHY: Record<string, string> = {
  ENOENT: 'there is no such folder',
  ENOTDIR: 'there is no such folder',
  EACCES: 'this user may not write there',
  EPERM: 'this user may not write there',
  EROFS: 'the disk is read-only',
  EISDIR: 'it is a folder',
  ENAMETOOLONG: 'the name is too long',
  ENOSPC: 'the disk is full',
};
