import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import path from 'node:path';
import { CliFault } from '../output/index.ts';

/** Asked first where a file is handed on by its name, which does not say what is wrong. */
export async function mustBeReadable(file: string, cwd: string): Promise<void> {
  const at = path.resolve(cwd, file);
  const cannot = (why: string) => new CliFault(`${file} cannot be read: ${why}`);
  const stats = await stat(at).catch((error: NodeJS.ErrnoException) => {
    throw cannot(error.code === 'ENOENT' ? 'there is no such file' : error.message);
  });
  if (!stats.isFile()) throw cannot('it is no regular file');
  await access(at, constants.R_OK).catch((error: Error) => {
    throw cannot(error.message);
  });
}

/** The emails of a batch, as its file holds them; whether they are right, the server says. */
export function readEmails(text: string): unknown[] {
  let list: unknown;
  try {
    list = JSON.parse(text);
  } catch (error) {
    throw new CliFault(`the file is not JSON: ${(error as Error).message}`);
  }
  if (!Array.isArray(list)) throw new CliFault('the file must hold a JSON list of emails: [{"from": …, "to": …}, …]');
  return list;
}
