import { InvalidArgumentError, type Command, type Option } from 'commander';

const aliases = new WeakMap<Command, Readonly<Record<string, string>>>();

/**
 * Where a field of the API has another name on the command line: `tags` is `--tag` there, one after the other. `*` says
 * what a body is a list of.
 */
export function nameFields(command: Command, names: Readonly<Record<string, string>>): Command {
  aliases.set(command, { ...aliases.get(command), ...names });
  return command;
}

export const namesOf = (command: Command): Readonly<Record<string, string>> => aliases.get(command) ?? {};

const COMMON = new Set(['--json', '--url', '--api-key', '--profile', '--data']);

/** Of every command of the API. */
export const isCommon = ({ long }: Option): boolean => COMMON.has(long ?? '');

/** Where a command may be run again because nobody knows whether it was done. */
export const addOnce = (command: Command): Command =>
  command.option('--idempotency-key <key>', 'makes it safe to run the same command again within 24 hours', headerText);

function headerText(value: string): string {
  if (/^[\x20-\x7E]+$/.test(value)) return value;
  throw new InvalidArgumentError('It takes ASCII letters, digits and signs, such as digest-2026-11-20.');
}

/** For options that may be given several times. */
export const collect = (value: string, before: string[] | undefined): string[] => [...(before ?? []), value];
