import type { Command, Option } from 'commander';
import { dataOf, quoted, type Target } from '../client/index.ts';
import { processOf, type CommandProcess } from '../output/index.ts';
import { collect } from './collect.ts';
import { declareRest } from './declare-rest.ts';

/** Which page it was. */
const PLACES: readonly string[] = ['after', 'before', 'yes'];

/** What variables say of the server is said by options: the line may be typed where they are not set. */
const VARIABLES: Readonly<Record<string, (process: CommandProcess) => string | undefined>> = {
  url: ({ env }) => env.RASKET_URL,
  profile: ({ env }) => env.RASKET_PROFILE,
  data: ({ env, cwd }) => dataOf(undefined, env, cwd()),
};

/** A command as it was typed, for a shell, with the server that was chosen and without its key, which is a secret. */
export function typeAgain(command: Command, { keyFrom }: Target, more: readonly string[]): string {
  const options = command.options.flatMap((option) => wordsOf(command, option));
  const words = [...pathOf(command), ...command.args, ...options, ...more].map(quoted).join(' ');
  return words + keyOf(keyFrom);
}

const KEY = ' (with the key of ';

const keyOf = (keyFrom: string): string =>
  ['--api-key', 'RASKET_API_KEY'].includes(keyFrom) ? `${KEY}${keyFrom})` : '';

const NAMED = /\brasket((?: [a-z][a-z-]*)+)/g;

/**
 * A text that names commands, for whoever chose a server: typed as they stand there, they reach that one and no other.
 * Commands that take no server, and lines that name one already, stay as they are.
 */
export function nameServer(command: Command, text: string): string {
  const chosen = command.options.filter(({ long }) => long !== undefined && SERVER.includes(long));
  const words = chosen.map((option) => wordsOf(command, option)).filter((pair) => pair.length > 0);
  const isKeyTyped = command.getOptionValueSource('apiKey') === 'cli';
  const line = (one: string): string => {
    let needsKey = false;
    const named = one.replaceAll(NAMED, (found, path: string, at: number) => {
      const [meant, depth] = commandAt(rootOf(command), path.trim().split(' '));
      const behind = one.slice(at);
      if (behind.startsWith(' --help', found.length)) return found;
      const missing = words.filter(([flag = '']) => takes(meant, flag) && !behind.includes(`${flag} `));
      needsKey ||= isKeyTyped && takes(meant, '--data') && !one.includes(KEY);
      const spoken = found.split(' ');
      return [...spoken.slice(0, depth + 1), ...missing.flat().map(quoted), ...spoken.slice(depth + 1)].join(' ');
    });
    return needsKey ? named + keyOf('--api-key') : named;
  };
  return text.split('\n').map(line).join('\n');
}

const SERVER: readonly string[] = ['--url', '--profile', '--data'];

/** What runs on a data folder says itself which one. A command with several others is one of these, where none is named. */
const takes = (command: Command, flag: string): boolean =>
  [command, ...command.commands].some(
    ({ options }) => options.some(({ long }) => long === flag) && options.some(({ long }) => long === '--url'),
  );

/** The command that words lead to, and how many of them. */
export function commandAt(root: Command, words: readonly string[]): [command: Command, depth: number] {
  declareRest(root);
  let [command, depth] = [root, 0];
  for (const word of words) {
    const next = command.commands.find((one) => one.name() === word || one.aliases().includes(word));
    if (!next) break;
    command = next;
    depth++;
  }
  return [command, depth];
}

const rootOf = (command: Command): Command => (command.parent ? rootOf(command.parent) : command);

function wordsOf(command: Command, option: Option): string[] {
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
  return Object.keys(VARIABLES).some(isTyped) ? undefined : VARIABLES[name]?.(processOf(command)) || undefined;
}

const pathOf = (command: Command): string[] => [...(command.parent ? pathOf(command.parent) : []), command.name()];
