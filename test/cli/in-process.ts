import { EventEmitter } from 'node:events';
import fs from 'node:fs';
import { Readable, Writable } from 'node:stream';
import { runProgram } from '../../bin/program.ts';
import { toPlural } from '../../cli/commands/synonyms.ts';
import { commandWord, meantWords } from '../../cli/commands/typed-words.ts';
import type { CommandProcess } from '../../cli/output/command-process.ts';

export interface Ended {
  stdout: string;
  stderr: string;
  code: number | null;
}

export interface Around {
  env: Readonly<Record<string, string | undefined>>;
  cwd: string;
  /** The content of standard input; without it there is none. */
  input?: string | AsyncIterable<Buffer> | undefined;
  /** The width of a terminal; without it all three streams are pipes. */
  columns?: number | undefined;
  /** Told of each piece of output as it is written. */
  onOutput?: ((text: string) => void) | undefined;
  /** Handed what presses Ctrl-C. */
  onStart?: ((interrupt: () => void) => void) | undefined;
}

export const { version } = JSON.parse(fs.readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  version: string;
};

/** Runs the command line in this process. `shown` is what a terminal gets: both outputs in the order of writing. */
export async function runInProcess(
  words: readonly string[],
  { env, cwd, input, columns, onOutput, onStart }: Around,
): Promise<Ended & { shown: string }> {
  const heard = { stdout: '', stderr: '', shown: '' };
  const output = (name: 'stdout' | 'stderr'): Writable => {
    const decoder = new TextDecoder();
    const write = (chunk: Buffer, _: string, done: () => void): void => {
      const text = decoder.decode(chunk, { stream: true });
      heard[name] += text;
      heard.shown += text;
      onOutput?.(text);
      done();
    };
    return Object.assign(new Writable({ write }), { isTTY: columns !== undefined, columns });
  };
  const given = typeof input === 'string' ? [Buffer.from(input)] : (input ?? []);
  const isTTY = columns !== undefined;
  let isRaw = false;
  // A terminal shows what is typed, but for a program that asked for it raw.
  async function* typed(): AsyncIterable<Buffer> {
    for await (const chunk of given) {
      if (isTTY && !isRaw) heard.shown += chunk.toString();
      yield chunk;
    }
  }
  const setRawMode = (on: boolean): void => void (isRaw = on);
  const stdin = Object.assign(Readable.from(isTTY ? typed() : given), { isTTY, ...(isTTY && { setRawMode }) });
  const streams = { stdin, stdout: output('stdout'), stderr: output('stderr') };
  const its = Object.assign(new EventEmitter(), { ...streams, env, cwd: () => cwd, exitCode: undefined });
  onStart?.(() => void its.emit('SIGINT'));
  const code = await runProgram(['node', 'rasket', ...words], version, its as unknown as CommandProcess);
  return { ...heard, code };
}

/** Commands that work on a data folder take everything from a process of their own, and so do servers. */
export const NEEDS_PROCESS = new Set(
  'dev playground seed setup init serve restart migrate migrate-to-postgres migrate-to-sqlite vacuum backup backups restore rekey blobs sweep teams operators users sending relays host config completion man'.split(
    ' ',
  ),
);
const VERSION = new Set(['--version', '-V', '-v', 'version']);
/** Returns true for what `bin/main.ts` answers before it loads the program. */
const asksVersion = ([first = '', ...rest]: readonly string[]): boolean => VERSION.has(first) && rest.length === 0;

export function canRunInProcess(words: readonly string[]): boolean {
  const first = commandWord(meantWords(words)) ?? '';
  return !NEEDS_PROCESS.has(first) && !NEEDS_PROCESS.has(toPlural(first)) && !asksVersion(words);
}

/** Returns whether the command can run in a process that runs others too: what it is handed is the first thing that the program does. */
export const canBeHosted = (words: readonly string[]): boolean => !asksVersion(words);
