import { InvalidArgumentError, type Command, type Option } from 'commander';

const withDefault = new WeakSet<Command>();

/** Records that a command has a default subcommand. */
export const keepDefault = (command: Command): void => void withDefault.add(command);

/** Reports whether the command has a default subcommand. */
export const hasDefault = (command: Command): boolean => withDefault.has(command);

const aliases = new WeakMap<Command, Readonly<Record<string, string>>>();

/**
 * Gives fields of the API another name on the command line: `tags` is `--tag` there, one at a time. `*` names the items
 * of a body that is a list.
 */
export function nameFields(command: Command, names: Readonly<Record<string, string>>): Command {
  aliases.set(command, { ...aliases.get(command), ...names });
  return command;
}

export const findOptionNames = (command: Command): Readonly<Record<string, string>> => aliases.get(command) ?? {};

const COMMON = new Set(['--json', '--url', '--api-key', '--profile', '--data']);

/** Reports whether every command of the API has the option. */
export const isCommon = ({ long }: Option): boolean => COMMON.has(long ?? '');

/** Adds the option for running a command again when its outcome is unknown. */
export const addOnce = (command: Command): Command =>
  command.option('--idempotency-key <key>', 'make it safe to repeat the same command within 24 hours', headerText);

function headerText(value: string): string {
  if (/^[\x20-\x7E]+$/.test(value)) return value;
  throw new InvalidArgumentError(
    'It must consist of ASCII letters, digits and punctuation, such as digest-2026-11-20.',
  );
}

/** For options that may be given several times. */
export const collect = (value: string, before: string[] | undefined): string[] => [...(before ?? []), value];
