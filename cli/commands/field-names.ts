import type { Command } from 'commander';

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
