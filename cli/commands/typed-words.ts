import type { Command } from 'commander';
import { hasDefault } from './declare.ts';
import { findOptionNames } from './command-options.ts';

/** Options of all commands of the API, and whether a value follows: they may stand before the command. */
const GLOBAL: Readonly<Record<string, boolean>> = {
  '--json': false,
  '--wide': false,
  '--url': true,
  '--api-key': true,
  '--profile': true,
  '--data': true,
  '--config': true,
};

/** Words that people type for a verb, and the verbs they may mean, the likeliest first. */
const VERBS: readonly (readonly [typed: readonly string[], meant: readonly string[]])[] = [
  [
    ['rm', 'delete', 'remove', 'revoke'],
    ['delete', 'remove', 'revoke', 'withdraw', 'end', 'discard'],
  ],
  [
    ['add', 'create', 'new'],
    ['create', 'add', 'upload'],
  ],
  [['ls'], ['list']],
  [['show', 'view', 'inspect'], ['get']],
];

/** The options at the beginning of some words, with their values. */
function readGlobals(words: readonly string[]): string[] {
  let at = 0;
  for (;;) {
    const [name = '', value] = (words[at] ?? '').split('=', 2);
    if (!Object.hasOwn(GLOBAL, name)) return words.slice(0, at);
    at += GLOBAL[name] && value === undefined ? 2 : 1;
  }
}

/** The first word that is no option: which command it is. */
export const commandWord = (words: readonly string[]): string | undefined => words[readGlobals(words).length];

/**
 * Returns the words as the commands are declared: common options move after the command, another word for a verb
 * becomes the verb, and a noun alone becomes its list, or the only item of it.
 */
export function typedWords(program: Command, words: readonly string[]): string[] {
  const early: string[] = [];
  const path: string[] = [];
  let command = program;
  let rest = [...words];
  for (;;) {
    if (command.commands.length > 0) {
      const globals = readGlobals(rest);
      early.push(...globals);
      rest = rest.slice(globals.length);
    }
    const [word] = rest;
    const next = word === undefined ? undefined : findChild(command, word);
    if (!next) break;
    path.push(next.name());
    command = next;
    rest = rest.slice(1);
  }
  const usual = isAlone(program, command, rest) ? findDefaultVerb(command) : [];
  return [...path, ...usual, ...early, ...(takesName(command) ? nameLast(rest) : rest)];
}

/** Reports whether the name is a positional argument of the command. */
const takesName = (command: Command): boolean => findOptionNames(command)['name']?.startsWith('<') ?? false;

/** Moves a name that is typed as an option, as when a name is changed, to the end of the words. */
function nameLast(words: readonly string[]): string[] {
  const end = words.indexOf('--');
  const at = words.findIndex((word) => word === '--name' || word.startsWith('--name='));
  if (at === -1 || (end !== -1 && end < at)) return [...words];
  const [option = ''] = words.slice(at);
  const isApart = option === '--name';
  const name = isApart ? words[at + 1] : option.slice('--name='.length);
  if (name === undefined) return [...words];
  const others = words.toSpliced(at, isApart ? 2 : 1);
  return [...others, ...(end === -1 ? ['--'] : []), name];
}

const named = ({ commands }: Command, name: string): Command | undefined =>
  commands.find((one) => one.name() === name || one.aliases().includes(name));

function findChild(command: Command, word: string): Command | undefined {
  const declared = named(command, word);
  if (declared || command.parent === null) return declared;
  // A verb for a part of the item, as in delete-label.
  const [, verb = '', part = ''] = /^([a-z]+)(-[a-z-]+)?$/.exec(word) ?? [];
  const [, meant = []] = VERBS.find(([typed]) => typed.includes(verb)) ?? [];
  return meant.flatMap((one) => named(command, one + part) ?? []).at(0);
}

/** Every other word for a verb of a noun, and the verb. */
export const otherWords = (command: Command): [word: string, verb: string][] =>
  VERBS.flatMap(([typed]) => typed).flatMap((word) => {
    const child = named(command, word) ? undefined : findChild(command, word);
    return child ? [[word, child.name()] as [string, string]] : [];
  });

/** Reports whether a noun is followed only by options; a request for help is for its page. */
const isAlone = (program: Command, command: Command, [first]: readonly string[]): boolean =>
  command !== program &&
  command.commands.length > 0 &&
  !hasDefault(command) &&
  (first === undefined || (first.startsWith('-') && first !== '-h' && first !== '--help'));

/** Returns the default verb of a noun. */
function findDefaultVerb(command: Command): string[] {
  const usual = ['get', 'list'].find((name) => {
    const child = named(command, name);
    return child && child.registeredArguments.every(({ required }) => !required);
  });
  return usual === undefined ? [] : [usual];
}
