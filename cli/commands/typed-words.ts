import { Option, type Command } from 'commander';
import { findOptionNames, hasDefault } from './command-options.ts';
import { listSynonyms, replaceOptions, replaceSynonym, toPlural } from './synonyms.ts';

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
  [
    ['ls', 'list'],
    ['list', 'status'],
  ],
  [
    ['show', 'view', 'inspect', 'describe', 'info', 'get'],
    ['get', 'show', 'status'],
  ],
  [
    ['check', 'verify', 'validate'],
    ['verify', 'check'],
  ],
  [['test'], ['test', 'trigger', 'check', 'verify']],
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

/** Replaces a synonym at the beginning of a line by the command that it stands for; options stay in front. */
export function meantWords(words: readonly string[]): string[] {
  const globals = readGlobals(words);
  const [first, ...rest] = words.slice(globals.length);
  if (first === undefined) return [...words];
  const between = readGlobals(rest);
  const plain = [first, ...rest.slice(between.length)];
  const meant = replaceSynonym(plain);
  // Options keep their place unless a synonym is replaced: `login --api-key` takes a value or none.
  const isSame = meant.length === plain.length && meant.every((word, at) => word === plain[at]);
  return isSame ? [...words] : [...globals, ...between, ...meant];
}

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
    if (word === 'search' && next.name() !== word) rest = searchFor(rest);
  }
  const usual = isAlone(program, command, rest) ? findDefaultVerb(command) : undefined;
  if (usual) {
    path.push(usual.name());
    command = usual;
  }
  const tail = findTail(command, rest);
  if (tail) {
    path.splice(-1, 1, tail.name());
    command = tail;
    rest = rest.filter((word) => !FOLLOW.has(word));
  }
  acceptYes(command);
  const options = replaceOptions(path.join(' '), rest);
  return [...path, ...early, ...(takesName(command) ? nameLast(options) : options)];
}

/** Makes one text of the words up to the next option. */
function searchFor(words: readonly string[]): string[] {
  const end = words.findIndex((word) => word.startsWith('-'));
  const text = end === -1 ? words : words.slice(0, end);
  return [...(text.length === 0 ? [] : ['--search', text.join(' ')]), ...words.slice(text.length)];
}

const FOLLOW: ReadonlySet<string> = new Set(['-f', '--follow']);

/** Returns the command that follows a list, if `-f` asks for it. */
function findTail(command: Command, words: readonly string[]): Command | undefined {
  const end = words.indexOf('--');
  const isAsked = words.slice(0, end === -1 ? words.length : end).some((word) => FOLLOW.has(word));
  return isAsked && command.name() === 'list' && command.parent ? named(command.parent, 'tail') : undefined;
}

/** Accepts `--yes` for a command that asks nothing, so that a script can pass it to every command. */
function acceptYes(command: Command): void {
  if (command.options.some(({ long }) => long === '--yes') || command.parent === null) return;
  command.addOption(new Option('--yes', 'accepted, although nothing is asked').hideHelp());
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
  if (declared) return declared;
  if (command.parent === null) return named(command, toPlural(word));
  if (word === 'search') return [named(command, 'list')].find((list) => list && hasOption(list, '--search'));
  // A verb for a part of the item, as in delete-label.
  const [, verb = '', part = ''] = /^([a-z]+)(-[a-z-]+)?$/.exec(word) ?? [];
  const [, meant = []] = VERBS.find(([typed]) => typed.includes(verb)) ?? [];
  return meant.flatMap((one) => named(command, one + part) ?? []).at(0);
}

const hasOption = ({ options }: Command, name: string): boolean => options.some(({ long }) => long === name);

/** Every other word for a command below this one, and the command. */
export function otherWords(command: Command): [word: string, meant: string][] {
  const isTop = command.parent === null;
  const nouns = command.commands.flatMap((one) => [one.name(), ...one.aliases()].map(toSingular));
  const typed = isTop ? nouns : [...VERBS.flatMap(([words]) => words), 'search'];
  const replaced = listSynonyms(isTop ? [] : [command.name()]);
  const found = [...new Set(typed)].flatMap((word) => {
    const child = named(command, word) ? undefined : findChild(command, word);
    return child && !replaced.some(([synonym]) => synonym === word) ? [[word, child.name()] as [string, string]] : [];
  });
  return [...found, ...replaced.filter(([word]) => !named(command, word))];
}

const toSingular = (noun: string): string => noun.replace(/ies$/, 'y').replace(/s$/, '');

/** Reports whether a noun is followed only by options; a request for help is for its page. */
const isAlone = (program: Command, command: Command, [first]: readonly string[]): boolean =>
  command !== program &&
  command.commands.length > 0 &&
  !hasDefault(command) &&
  (first === undefined || (first.startsWith('-') && first !== '-h' && first !== '--help'));

/** Returns the default verb of a noun. */
const findDefaultVerb = (command: Command): Command | undefined =>
  ['get', 'list']
    .flatMap((name) => named(command, name) ?? [])
    .find((child) => child.registeredArguments.every(({ required }) => !required));
