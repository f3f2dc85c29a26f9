import fs from 'node:fs';
import path from 'node:path';
import type { Command } from 'commander';
import { beforeAll, describe, expect, it } from 'vitest';
import { makeProgram } from '../../bin/program.ts';
import { BY_HAND, findRoute, type Advised } from '../../cli/client/index.ts';
import { commandAt } from '../../cli/commands/typed-command.ts';
import { everyFamily, isByHand, createLineFormatter } from '../../cli/output/index.ts';
import { createConsoleFormatter } from '../../console/advice.ts';
import { operatorSections, sections } from '../../console/catalog.ts';

const root = path.resolve(import.meta.dirname, '../..');
const ANYTHING = 'X';

const isCalled = (word: string): word is Advised[0] => word in BY_HAND || findRoute(word as never) !== undefined;

/** Returns the text between the brackets that open at `from`. */
function inside(text: string, from: number): string {
  let depth = 0;
  for (let at = from; at < text.length; at++) {
    if ('[({'.includes(text[at] ?? '')) depth++;
    else if ('])}'.includes(text[at] ?? '') && --depth === 0) return text.slice(from + 1, at);
  }
  throw new Error(`no bracket closes ${text.slice(from, from + 80)}`);
}

/** The parts between commas that stand in no brackets of their own. */
function splitParts(list: string): string[] {
  const parts = [''];
  let depth = 0;
  for (const letter of list) {
    if ('[({'.includes(letter)) depth++;
    if ('])}'.includes(letter)) depth--;
    if (letter === ',' && depth === 0) parts.push('');
    else parts[parts.length - 1] += letter;
  }
  return parts.map((part) => part.trim()).filter((part) => part !== '');
}

/** Every command that a source advises; what is known only when it runs is anything. */
export function advisedIn(source: string): Advised[] {
  const ofItems = [...source.matchAll(/adviseFor\('[^']*', '([\w ]+)'\)/g)].map(([, called]): Advised => [
    called as Advised[0],
    ANYTHING,
  ]);
  const written = [...source.matchAll(/(?:\[|seeWhatThereIs\()\s*'([\w ]+)'/g)].flatMap((found): Advised[] => {
    const [called = '', ...words] = splitParts(inside(source, found.index + found[0].search(/[[(]/))).flatMap(
      (part) => {
        if (part.startsWith('...')) return [];
        return /^'[^']*'$/.test(part) ? [part.slice(1, -1)] : [ANYTHING];
      },
    );
    return isCalled(called) ? [[called, ...words]] : [];
  });
  return [...written, ...ofItems];
}

const sources = ['cli', 'console'].flatMap((folder) =>
  fs
    .readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' })
    .map((file) => path.join(folder, file))
    // The parts of the command line begin with words, and advise nothing.
    .filter((file) => /(?<!\.test)\.tsx?$/.test(file) && file !== 'cli/index.ts'),
);

const advised = sources.flatMap((file) =>
  advisedIn(fs.readFileSync(path.join(root, file), 'utf8')).map((command) => [file, command] as const),
);

let program: Command;
beforeAll(async () => {
  program = await makeProgram('9.9.9');
});

/** Returns what is wrong with an advised command, or undefined when the command line accepts it. */
function findFault(command: Advised): string | undefined {
  const said = createLineFormatter()({ words: 'Next', command }) ?? '';
  const words = said.replace(/^Next: rasket /, '').split(' ');
  // Help takes any words: those of a command, or a finding.
  if (words[0] === 'help') return undefined;
  const [found, depth] = commandAt(program, words);
  const usual = found.commands.length > 0 ? found.commands.find((one) => one.name() === 'show') : found;
  if (depth === 0 || (found.commands.length > 0 && !usual)) return `${said} is no command`;
  const target = usual ?? found;
  const { operands, unknown } = parseOptions(target, words.slice(depth));
  if (unknown.length > 0) return `${said} has ${unknown.join(' ')}`;
  const [least, most] = countOperands(target);
  if (words.includes('--help') || words.at(-1) === '<') return undefined;
  return operands.length < least || operands.length > most
    ? `${said} has ${operands.length} words, not ${least} to ${most}`
    : undefined;
}

/** Reads the options without leaving a trace in the command, which other tests read too. */
function parseOptions(command: Command, words: readonly string[]): { operands: string[]; unknown: string[] } {
  const [operands, unknown]: [string[], string[]] = [[], []];
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? '';
    const option = command.options.find(({ long }) => long === word);
    if (!word.startsWith('--')) operands.push(word);
    else if (word === '--help') continue;
    else if (!option) unknown.push(word);
    else if (option.required && words[++at] === undefined) unknown.push(`${word} without a value`);
  }
  return { operands, unknown };
}

const countOperands = ({ registeredArguments: known }: Command): [least: number, most: number] => [
  known.filter(({ required }) => required).length,
  known.some(({ variadic }) => variadic) ? Infinity : known.length,
];

describe('advice in the sources', () => {
  it('is found by the test', () => {
    expect(advised.length).toBeGreaterThan(60);
    expect(new Set(advised.map(([file]) => file)).size).toBeGreaterThan(15);
  });

  it.each(advised)('from %s is a valid command: %j', (_, command) => {
    expect(findFault(command)).toBeUndefined();
  });

  it('can name any operation of a family', () => {
    const operations = everyFamily.flatMap(({ list, get, report, actions = [] }) =>
      [list, get, report, ...actions].flatMap((one) => (one ? [one.operation] : [])),
    );
    expect(operations.length).toBeGreaterThan(80);
    const noCommand = operations.filter((operation) => findFault([operation])?.endsWith('is no command'));
    expect(noCommand).toEqual([]);
  });

  it.each([
    ["{ words: 'x', command: ['updateWebhook', id, '--statsu', 'enabled'] }", 'has --statsu'],
    ["seeWhatThereIs('listWebhooks', id)", 'has 1 words, not 0 to 0'],
    ["() => ['getDomain']", 'has 0 words, not 1 to 1'],
    ["{ command: ['webhooks replay', '--parkd'] }", 'has --parkd'],
  ])('is reported when it is misspelled: %s', (source, fault) => {
    const [found] = advisedIn(source);
    expect(found && findFault(found)).toContain(fault);
  });

  it('is shown in the console with its screens and keys, except for what the console lacks', () => {
    const say = createConsoleFormatter({ sections: [...sections, ...operatorSections], actions: [] });
    const typed = advised
      .map(([, command]) => [command[0], say({ words: 'Next', command })] as const)
      .filter(([, said]) => said?.includes('rasket'));
    expect([...new Set(typed.map(([called]) => called))].filter((called) => !isByHand(called))).toEqual([]);
    for (const [, command] of advised) {
      const said = say({ words: 'Next', command });
      const [, screen] = /^Next: :([\w-]+)/.exec(said ?? '') ?? [];
      if (screen !== undefined) expect([...sections, ...operatorSections].map(({ name }) => name)).toContain(screen);
    }
  });
});
