import { constants } from 'node:fs';
import { copyFile, lstat, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { CliFault } from './cli-fault.ts';
import type { CommandProcess } from './command-process.ts';

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

/**
 * Writes to a temporary file and renames it, so that a broken connection leaves no partial file and the previous one
 * intact.
 */
export async function save(
  { cwd }: Pick<CommandProcess, 'cwd'>,
  content: AsyncIterable<Uint8Array>,
  file: string,
  force: boolean,
  mode = 0o666,
): Promise<void> {
  const at = path.resolve(cwd(), file);
  const part = `${at}.${process.pid}.part`;
  try {
    await writeFile(part, content, { flag: 'wx', mode });
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
