import { readNamed, readUtf8 } from '../input/index.ts';
import type { CommandProcess } from '../output/index.ts';
import { readStdin } from './stdin.ts';

/** A body from a file, or from standard input where the file is called `-`. */
export async function readText(process: CommandProcess, file: string, flag: string): Promise<string> {
  if (file === '-') return readUtf8(await readStdin(process), 'standard input');
  return readUtf8(await readNamed(file, flag, process.cwd()), `${flag} ${file}`);
}
