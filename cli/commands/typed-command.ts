import type { Command, Option } from 'commander';
import { chooseDataFolder, quoted, type Target } from '../client/index.ts';
import {
  formatKeyOrigin,
  findProcess,
  listFor,
  createLineFormatter,
  type Chosen,
  type CommandProcess,
} from '../output/index.ts';
import { nearestTo } from '../output/cli-fault.ts';
import { collect, findOptionNames } from './command-options.ts';
import { findHint } from './synonyms.ts';
import { otherWords } from './typed-words.ts';

const rests = new WeakMap<Command, () => void>();

/** Registers a function that declares the commands which this command line did not need. */
export const registerRemaining = (program: Command, declare: () => void): void => void rests.set(program, declare);

/** For callers that search all commands of the program. */
function declareRemaining(program: Command): void {
  const declare = rests.get(program);
  rests.delete(program);
  declare?.();
}

/** Options that choose a page or a line to start from, and others of one run only. */
const PLACES: readonly string[] = ['after', 'before', 'fromLine', 'yes', 'dryRun'];

/** Turns variables about the server into options: the line may be typed in a shell that does not have them. */
const VARIABLES: Readonly<Record<string, (process: CommandProcess) => string | undefined>> = {
  url: ({ env }) => env.RASKET_URL,
  profile: ({ env }) => env.RASKET_PROFILE,
  data: ({ env, cwd }) => chooseDataFolder(undefined, env, cwd()),
};

/** A command as it was typed, for a shell, with the server that was chosen and without its key, which is a secret. */
export function typeAgain(command: Command, { keyFrom }: Target, more: readonly string[]): string {
  const options = command.options.flatMap((option) => toWords(command, option));
  const words = [...toCommandPath(command), ...command.args, ...options, ...more].map(quoted).join(' ');
  return words + formatKeyOrigin(keyFrom);
}

/** Returns the options and variables that chose the server, for advised commands. */
export function chosenBy(command: Command): Chosen {
  const options = command.options.flatMap((option) => {
    const [flag, value] = SERVER.includes(option.long ?? '') ? toWords(command, option) : [];
    return flag !== undefined && value !== undefined ? [[flag, value] as const] : [];
  });
  return { options, isKeyTyped: command.getOptionValueSource('apiKey') === 'cli' };
}

const SERVER: readonly string[] = ['--url', '--profile', '--data'];

/** The command that words lead to, and how many of them. */
export function commandAt(root: Command, words: readonly string[]): [command: Command, depth: number] {
  declareRemaining(root);
  let command = root;
  let depth = 0;
  for (const word of words) {
    const next = command.commands.find((one) => one.name() === word || one.aliases().includes(word));
    if (!next) break;
    command = next;
    depth++;
  }
  return [command, depth];
}

function toWords(command: Command, option: Option): string[] {
  const name = option.attributeName();
  const flag = option.long ?? '';
  if (name === 'apiKey' || PLACES.includes(name)) return [];
  const isTyped = command.getOptionValueSource(name) === 'cli';
  const value: unknown = isTyped ? command.getOptionValue(name) : setFor(command, name);
  if (value === undefined || value === option.negate) return [];
  if (typeof value === 'boolean') return [flag];
  if (!Array.isArray(value)) return [flag, String(value)];
  return option.parseArg === collect ? value.flatMap((one) => [flag, String(one)]) : [flag, value.join(',')];
}

/** A server that is typed is the one, whatever is set for the shell. */
function setFor(command: Command, name: string): string | undefined {
  const isTyped = (option: string): boolean => command.getOptionValueSource(option) === 'cli';
  return Object.keys(VARIABLES).some(isTyped) ? undefined : VARIABLES[name]?.(findProcess(command)) || undefined;
}

const toCommandPath = (command: Command): string[] => [
  ...(command.parent ? toCommandPath(command.parent) : []),
  command.name(),
];

type Advise = (command: Command, path: string) => string | undefined;

const nameVerbs: Advise = ({ commands }, path) => {
  if (commands.length === 0) return undefined;
  return path === 'rasket'
    ? createLineFormatter()({ words: 'List them with', command: ['help', '--all'] })
    : `${path} has: ${commands.map((one) => one.name()).join(', ')}`;
};

const nameList: Advise = (command) => {
  const { registeredArguments: known, args } = command;
  const formatArgument = (at: number): string => `<${known[at]?.name()}>`;
  const parameters = new Map(Object.entries(findOptionNames(command)).map(([name, word]) => [word, name]));
  const path = Object.fromEntries(args.map((arg, at) => [parameters.get(formatArgument(at)) ?? '', arg]));
  const list = listFor(parameters.get(formatArgument(args.length)) ?? '', path);
  return list && createLineFormatter(chosenBy(command))(list);
};

const nameHelp: Advise = (_, path) => `See how with: ${path} --help`;

/** The advice for words that make no command, by what is wrong with them. */
const ADVICE: Readonly<Record<string, Advise>> = {
  'commander.unknownCommand': nameVerbs,
  // Names the words after a command that does something by itself.
  'commander.excessArguments': (command, path) => nameVerbs(command, path) ?? nameHelp(command, path),
  'commander.missingArgument': (command, path) => nameList(command, path) ?? nameHelp(command, path),
  'commander.missingMandatoryOptionValue': nameHelp,
  'commander.optionMissingArgument': nameHelp,
  'commander.unknownOption': nameHelp,
};

export function adviceFor(
  program: Command,
  words: readonly string[],
  { code, message }: { code: string; message: string },
): string | undefined {
  // Commander's guess of what was meant helps more.
  if (code === 'commander.unknownOption' && message.includes('Did you mean')) return undefined;
  const [command, depth] = commandAt(program, words);
  const advice = ADVICE[code]?.(command, ['rasket', ...words.slice(0, depth)].join(' '));
  if (code !== 'commander.unknownCommand') return advice;
  const unknown = words[depth] ?? '';
  const hint = depth === 0 ? findHint(unknown) : undefined;
  return [hint ?? suggestCommand(command, unknown, message), hint === undefined ? advice : undefined]
    .filter((line) => line !== undefined)
    .join('\n');
}

/** Suggests the near ones of the commands that Commander found, and a command by a synonym only if there is none. */
function suggestCommand(command: Command, unknown: string, message: string): string | undefined {
  const [, found = ''] = /\(Did you mean (?:one of )?(.*)\?\)/.exec(message) ?? [];
  const near = found.split(', ').filter((word) => nearestTo(unknown, [word]) !== undefined);
  const others = otherWords(command);
  const synonym = nearestTo(
    unknown,
    others.map(([word]) => word),
  );
  const meant = near.length > 0 ? near : others.flatMap(([word, name]) => (word === synonym ? [name] : []));
  if (meant.length === 0) return undefined;
  return `(Did you mean ${meant.length > 1 ? 'one of ' : ''}${meant.join(', ')}?)`;
}
