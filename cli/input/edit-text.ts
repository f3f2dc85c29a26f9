import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { CliFault, type CommandProcess } from '../output/index.ts';

/** Everything from this line on is only shown, and not sent. */
export const SCISSORS = '# ------------------------ >8 ------------------------';

/** A text from the editor, in a file that nobody else can read, until it is removed. */
export interface Written {
  text: string;
  file: string;
  remove: () => void;
}

/** A text to edit, and lines that are only shown below it. */
export interface Editable {
  begin: string;
  below: readonly string[];
}

/** Opens the user's editor. An empty text is a fault, and no file remains. */
export async function editText(
  { env, stdin }: Pick<CommandProcess, 'env' | 'stdin'>,
  { begin, below }: Editable,
): Promise<Written> {
  if (!stdin.isTTY) {
    throw new CliFault('the text is missing; give it with --text, or --text-file - for standard input', 'usage');
  }
  const { file, remove } = writeEditable({ begin, below });
  const failure = await withoutInterrupts(() => runEditor(env, env['VISUAL'] || env['EDITOR'] || 'vi', file));
  const text = readEdited(file);
  if (text === '' || text === begin.trim()) {
    remove();
    const why = text === '' ? 'the text is empty' : 'the text was not changed';
    throw new CliFault(`${why}; nothing was sent`, 'failed');
  }
  fs.writeFileSync(file, `${text}\n`, { mode: 0o600 });
  if (failure !== undefined) {
    throw new CliFault(`the editor exited with ${failure}; nothing was sent. Your text is in ${file}`, 'failed');
  }
  return { text, file, remove };
}

/** Returns the editor of the environment; throws if there is none. */
export function findEditor(env: CommandProcess['env']): string {
  const editor = env['VISUAL'] || env['EDITOR'];
  if (editor) return editor;
  throw new CliFault('No editor is set. Set VISUAL or EDITOR, such as EDITOR=nano, and start the console again.');
}

/**
 * Edits a text in the editor of the environment, in place of a screen. The text is returned; the reason is thrown if
 * there is no editor or it failed. Its file never remains.
 */
export async function editWithEditor(env: CommandProcess['env'], { begin, below }: Editable): Promise<string> {
  const editor = findEditor(env);
  const { file, remove } = writeEditable({ begin, below });
  // A signal that ends this process leaves no file either.
  process.once('exit', remove);
  try {
    const failure = await runEditor(env, editor, file);
    if (failure !== undefined) throw new CliFault(`The editor exited with ${failure}; the text is as it was before.`);
    if (!fs.existsSync(file)) throw new CliFault('The editor left no file; the text is as it was before.');
    return readEdited(file);
  } finally {
    process.off('exit', remove);
    remove();
  }
}

/** Writes the text to a file of its own folder, which nobody else can read. */
function writeEditable({ begin, below }: Editable): Pick<Written, 'file' | 'remove'> {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'rasket-answer-'));
  const file = path.join(folder, 'answer.txt');
  fs.writeFileSync(file, `${begin}\n\n${SCISSORS}\n${below.join('\n')}\n`, { mode: 0o600, flag: 'wx' });
  return { file, remove: () => fs.rmSync(folder, { recursive: true, force: true }) };
}

const readEdited = (file: string): string => aboveScissors(fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : '');

/** Runs an editor in this terminal; returns how it failed, or undefined. */
function runEditor(env: CommandProcess['env'], editor: string, file: string): Promise<string | undefined> {
  const { spawn } = process.getBuiltinModule('node:child_process');
  return new Promise((resolve) => {
    // The shell takes an editor with options apart, as git does.
    const child = spawn('/bin/sh', ['-c', `${editor} "$1"`, 'sh', file], { stdio: 'inherit', env: { ...env } });
    child.once('error', (error) => resolve(error.message));
    child.once('exit', (status, signal) => {
      if (status === 0) resolve(undefined);
      else resolve(signal === null ? `status ${status}` : signal);
    });
  });
}

/** Keys that interrupt are for the editor, which decides what they mean. */
async function withoutInterrupts<T>(work: () => Promise<T>): Promise<T> {
  const ignore = (): void => undefined;
  const signals = ['SIGINT', 'SIGQUIT'] as const;
  for (const signal of signals) process.on(signal, ignore);
  try {
    return await work();
  } finally {
    for (const signal of signals) process.off(signal, ignore);
  }
}

export function aboveScissors(text: string): string {
  const lines = text.replaceAll('\r\n', '\n').split('\n');
  const at = lines.findIndex((line) => line.trim() === SCISSORS);
  return lines
    .slice(0, at === -1 ? lines.length : at)
    .join('\n')
    .trim();
}
