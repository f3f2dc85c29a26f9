import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { CliFault, type CommandProcess } from '../../output/index.ts';

/** Everything from this line on is only shown, and not sent. */
export const SCISSORS = '# ------------------------ >8 ------------------------';

/** A text from the editor, in a file that nobody else can read, until it is removed. */
export interface Written {
  text: string;
  file: string;
  remove: () => void;
}

/** Opens the user's editor. An empty text is a fault, and no file remains. */
export function editText(
  { env, stdin }: Pick<CommandProcess, 'env' | 'stdin'>,
  { begin, below }: { begin: string; below: readonly string[] },
): Written {
  if (!stdin.isTTY) {
    throw new CliFault('the text is missing; give it with --text, or --text-file - for standard input', 'usage');
  }
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'rasket-answer-'));
  const file = path.join(folder, 'answer.txt');
  const remove = (): void => fs.rmSync(folder, { recursive: true, force: true });
  fs.writeFileSync(file, `${begin}\n\n${SCISSORS}\n${below.join('\n')}\n`, { mode: 0o600, flag: 'wx' });
  const editor = env['VISUAL'] || env['EDITOR'] || 'vi';
  // The shell takes an editor with options apart, as git does.
  const { status, error } = spawnSync('/bin/sh', ['-c', `${editor} "$1"`, 'sh', file], {
    stdio: 'inherit',
    env: { ...env } as NodeJS.ProcessEnv,
  });
  const text = aboveScissors(fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : '');
  if (text === '' || text === begin.trim()) {
    remove();
    const why = text === '' ? 'the text is empty' : 'the text was not changed';
    throw new CliFault(`${why}; nothing was sent`, 'failed');
  }
  fs.writeFileSync(file, `${text}\n`, { mode: 0o600 });
  if (error || status !== 0) {
    const said = error ? error.message : `status ${status}`;
    throw new CliFault(`the editor exited with ${said}; nothing was sent. Your text is in ${file}`, 'failed');
  }
  return { text, file, remove };
}

export function aboveScissors(text: string): string {
  const lines = text.replaceAll('\r\n', '\n').split('\n');
  const at = lines.findIndex((line) => line.trim() === SCISSORS);
  return lines
    .slice(0, at === -1 ? lines.length : at)
    .join('\n')
    .trim();
}
