import type { Command } from 'commander';
import { listFor, sayOnLine } from '../output/index.ts';
import { namesOf } from './field-names.ts';
import { chosenBy, commandAt } from './type-again.ts';

type Advise = (command: Command, path: string) => string | undefined;

const nameVerbs: Advise = ({ commands }, path) => {
  if (commands.length === 0) return undefined;
  return path === 'rasket'
    ? 'See what there is with: rasket --help'
    : `${path} has: ${commands.map((one) => one.name()).join(', ')}`;
};

const nameList: Advise = (command) => {
  const { registeredArguments: known, args } = command;
  const wordOf = (at: number): string => `<${known[at]?.name()}>`;
  const parameters = new Map(Object.entries(namesOf(command)).map(([name, word]) => [word, name]));
  const path = Object.fromEntries(args.map((arg, at) => [parameters.get(wordOf(at)) ?? '', arg]));
  const list = listFor(parameters.get(wordOf(args.length)) ?? '', path);
  return list && sayOnLine(chosenBy(command))(list);
};

const nameHelp: Advise = (_, path) => `See how with: ${path} --help`;

/** The advice for words that make no command, by what is wrong with them. */
const ADVICE: Readonly<Record<string, Advise>> = {
  'commander.unknownCommand': nameVerbs,
  // The words behind a command that does something by itself.
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
  // What was meant, as commander guesses it, helps more.
  if (code === 'commander.unknownOption' && message.includes('Did you mean')) return undefined;
  const [command, depth] = commandAt(program, words);
  return ADVICE[code]?.(command, ['rasket', ...words.slice(0, depth)].join(' '));
}
