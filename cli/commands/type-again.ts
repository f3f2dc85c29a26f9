import type { Command, Option } from 'commander';
import { dataOf, quoted, type Target } from '../client/index.ts';
import { collect } from './collect.ts';

/** Which page it was. */
const PLACES: readonly string[] = ['after', 'before', 'yes'];

/** What variables say of the server is said by options: the line may be typed where they are not set. */
const VARIABLES: Readonly<Record<string, (env: NodeJS.ProcessEnv) => string | undefined>> = {
  url: (env) => env.RASKET_URL,
  profile: (env) => env.RASKET_PROFILE,
  data: (env) => dataOf(undefined, env),
};

/** A command as it was typed, for a shell, with the server that was chosen and without its key, which is a secret. */
export function typeAgain(command: Command, { keyFrom }: Target, more: readonly string[]): string {
  const options = command.options.flatMap((option) => wordsOf(command, option));
  const words = [...pathOf(command), ...command.args, ...options, ...more].map(quoted).join(' ');
  return ['--api-key', 'RASKET_API_KEY'].includes(keyFrom) ? `${words} (with the key of ${keyFrom})` : words;
}

function wordsOf(command: Command, option: Option): string[] {
  const name = option.attributeName();
  const flag = option.long ?? '';
  if (name === 'apiKey' || PLACES.includes(name)) return [];
  const isTyped = command.getOptionValueSource(name) === 'cli';
  const value: unknown = isTyped ? command.getOptionValue(name) : VARIABLES[name]?.(process.env) || undefined;
  if (value === undefined || value === option.negate) return [];
  if (typeof value === 'boolean') return [flag];
  if (!Array.isArray(value)) return [flag, String(value)];
  return option.parseArg === collect ? value.flatMap((one) => [flag, String(one)]) : [flag, value.join(',')];
}

const pathOf = (command: Command): string[] => [...(command.parent ? pathOf(command.parent) : []), command.name()];
