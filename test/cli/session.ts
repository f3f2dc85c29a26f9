import fs from 'node:fs';
import type { Ended } from './desk.ts';

export interface Step {
  line: number;
  command: string;
  stdout: string[];
  stderr: string[];
  code: number;
}

/**
 * Reads a session: `$ ` is what is typed, then the lines of standard output as they come, those of standard error
 * behind `! `, and `= ` the exit status where it is not 0. In what is expected, `<*>` stands for anything within a line
 * and `<name>` for one word, which later lines may use; `#` opens a remark. Empty lines count on neither side.
 */
export function readSession(file: string): Step[] {
  const steps: Step[] = [];
  for (const [at, text] of fs.readFileSync(file, 'utf8').split('\n').entries()) {
    const step = steps.at(-1);
    if (text.startsWith('#') || text === '') continue;
    if (text.startsWith('$ ')) steps.push({ line: at + 1, command: text.slice(2), stdout: [], stderr: [], code: 0 });
    else if (!step) throw new Error(`${file}:${at + 1}: a session begins with a command`);
    else if (text.startsWith('! ')) step.stderr.push(text.slice(2));
    else if (text.startsWith('= ')) step.code = Number(text.slice(2));
    else step.stdout.push(text);
  }
  return steps;
}

/** Runs a session step by step and answers it as it went; equal to `expected` where everything held. */
export async function replay(
  steps: readonly Step[],
  run: (command: string) => Promise<Ended>,
): Promise<{ expected: string; seen: string }> {
  const words = new Map<string, string>();
  const expected: string[] = [];
  const seen: string[] = [];
  for (const step of steps) {
    const command = step.command.replaceAll(NAME, (text, name: string) => words.get(name) ?? text);
    const ended = await run(command);
    expected.push(`$ ${command}`);
    seen.push(`$ ${command}`);
    const streams = [
      [step.stdout, ended.stdout, ''],
      [step.stderr, ended.stderr, '! '],
    ] as const;
    for (const [patterns, text, mark] of streams) {
      const lines = text.split('\n').filter((line) => line !== '');
      for (let at = 0; at < Math.max(patterns.length, lines.length); at++) {
        const pattern = patterns[at];
        const line = lines[at];
        const holds = pattern !== undefined && line !== undefined && matches(pattern, line, words);
        // When a pattern holds, both sides show the line itself, so that a difference shows only what differs.
        if (pattern !== undefined) expected.push(mark + (holds ? line : pattern));
        if (line !== undefined) seen.push(mark + line);
      }
    }
    expected.push(`= ${step.code}`);
    seen.push(`= ${ended.code}`);
  }
  return { expected: expected.join('\n'), seen: seen.join('\n') };
}

const NAME = /<([a-z][a-z0-9-]*)>/g;

const literally = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&');

function matches(pattern: string, line: string, words: Map<string, string>): boolean {
  const fresh: string[] = [];
  const source = pattern
    .split(/(<(?:\*|[a-z][a-z0-9-]*)>)/)
    .map((part) => {
      const name = /^<([a-z][a-z0-9-]*)>$/.exec(part)?.[1];
      if (part === '<*>') return '.*';
      if (name === undefined) return literally(part);
      const known = words.get(name);
      if (known !== undefined) return literally(known);
      fresh.push(name);
      return '(\\S+)';
    })
    .join('');
  const found = new RegExp(`^${source}$`, 'u').exec(line);
  if (!found) return false;
  fresh.forEach((name, at) => words.set(name, found[at + 1] ?? ''));
  return true;
}
