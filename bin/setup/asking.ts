/** Asks whoever sits at the terminal, or takes what flags say. */
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { fitProse } from '../../cli/output/prose.ts';
import { OperatorFault } from '../explain.ts';
import type { Found } from './this-machine.ts';

export interface Question<T> {
  /** The flag that answers it, as it is typed. */
  flag: string;
  /** What is asked for, to stand in front of a colon. */
  label: string;
  /** Sentences in front of the question, for who is asked. */
  says?: string | undefined;
  given?: string | undefined;
  found?: Found<string> | undefined;
  /** Hides the characters that are typed. */
  isSecret?: boolean;
  /** Throws where it cannot be that. */
  read(text: string): T;
}

export interface Asker {
  /** Whether somebody sits there. */
  readonly isInteractive: boolean;
  ask<T>(question: Question<T>): Promise<T>;
  /** Whether to do it: asked at a terminal alone. */
  agree(question: string, enter?: 'yes' | 'no'): Promise<boolean>;
  tell(text: string): void;
  close(): void;
}

/** A value that cannot be taken: what it must be, without the name of the flag. */
export class Unfit extends Error {
  override readonly name = 'Unfit';
}

export interface AskerOptions {
  isYes: boolean;
  /** Nothing but the answer of the command goes to standard output. */
  isQuiet?: boolean;
}

export function createAsker({ isYes, isQuiet = false }: AskerOptions): Asker {
  const isInteractive = !isYes && process.stdin.isTTY && process.stderr.isTTY;
  const tell = (text: string): void => {
    const out = isQuiet ? process.stderr : process.stdout;
    out.write(`${out.isTTY ? fitProse(text, out.columns || 80) : text}\n`);
  };
  const lines = isInteractive ? openLines() : undefined;

  async function ask<T>(question: Question<T>): Promise<T> {
    const { flag, label, given, found, says, isSecret = false } = question;
    if (given !== undefined) return readGiven(question, given);
    if (lines === undefined) {
      if (found === undefined || !isYes) throw unanswered(question);
      tell(`${label}: ${found.value}  (${found.from})`);
      return readGiven({ ...question, flag: `${flag} (${found.from})` }, found.value);
    }
    if (says !== undefined) tell(`\n${says}`);
    if (found !== undefined) tell(`Found: ${found.value || 'none'}  (${found.from})`);
    for (;;) {
      const prompt = `${label}${found === undefined ? '' : ` [${found.value || 'none'}]`}: `;
      const line = await lines.next(prompt, isSecret);
      const typed = isSecret ? line : line.trim();
      try {
        return question.read(typed === '' ? (found?.value ?? '') : typed);
      } catch (error) {
        tell(`That cannot be: ${reasonOf(error)}.`);
      }
    }
  }

  return {
    isInteractive,
    ask,
    tell,
    async agree(question, enter = 'yes') {
      if (lines === undefined) return true;
      const typed = (await lines.next(`${question} ${enter === 'yes' ? '[Y/n]' : '[y/N]'} `)).trim();
      return /^y(es)?$/i.test(typed === '' ? enter : typed);
    },
    close: () => lines?.close(),
  };
}

function readGiven<T>({ flag, read }: Question<T>, text: string): T {
  try {
    return read(text);
  } catch (error) {
    throw new OperatorFault(`${flag}: ${reasonOf(error)}; got ${JSON.stringify(text.slice(0, 80))}`, 'usage');
  }
}

/** Refusals of the resources say what is wrong in a sentence of their own. */
function reasonOf(error: unknown): string {
  if (error instanceof Error && (error.name === 'Unfit' || error.name === 'Refusal'))
    return error.message.replace(/^(name|email): /, '').replace(/\.$/, '');
  throw error;
}

function unanswered({ flag, label, found }: Pick<Question<unknown>, 'flag' | 'label' | 'found'>): OperatorFault {
  const offer =
    found === undefined
      ? ''
      : ` (found: ${found.value || 'none'}, ${found.from}; --yes takes everything that was found)`;
  return new OperatorFault(`${label}: nobody can be asked here; say it with ${flag}${offer}`, 'usage');
}

interface Lines {
  /** A secret is not shown while it is typed. */
  next(prompt: string, isSecret?: boolean): Promise<string>;
  close(): void;
}

/** One reader for all questions: what is typed ahead of a question is its answer. */
function openLines(): Lines {
  const screen = { isHidden: false };
  const output = new Writable({
    write(chunk: Buffer, _encoding, done) {
      if (!screen.isHidden) process.stderr.write(chunk);
      done();
    },
  });
  const reader = createInterface({
    input: process.stdin,
    output: Object.assign(output, { columns: process.stderr.columns }),
    terminal: true,
  });
  const typed: string[] = [];
  let isOver = false;
  let waiting: { resolve: (line: string) => void; reject: (error: unknown) => void } | undefined;
  const over = (): OperatorFault =>
    new OperatorFault('called off; what was done stays, and rasket setup can be run again');
  reader.on('line', (line) => {
    if (screen.isHidden) process.stderr.write('\n');
    screen.isHidden = false;
    if (waiting) waiting.resolve(line);
    else typed.push(line);
    waiting = undefined;
  });
  reader.on('SIGINT', () => {
    process.stderr.write('\n');
    reader.close();
  });
  reader.on('close', () => {
    isOver = true;
    waiting?.reject(over());
    waiting = undefined;
  });
  return {
    async next(prompt, isSecret = false) {
      const ahead = typed.shift();
      if (ahead !== undefined) {
        process.stderr.write(`${prompt}${isSecret ? '' : ahead}\n`);
        return ahead;
      }
      if (isOver) throw over();
      reader.setPrompt(prompt);
      reader.prompt();
      screen.isHidden = isSecret;
      return new Promise<string>((resolve, reject) => (waiting = { resolve, reject }));
    },
    close: () => reader.close(),
  };
}
