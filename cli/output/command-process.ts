import type { Command } from 'commander';

/** What a command has of its process; `process` itself is one. */
export type CommandProcess = Pick<
  NodeJS.Process,
  'stdin' | 'stdout' | 'stderr' | 'env' | 'exitCode' | 'cwd' | 'once' | 'off'
>;

const processes = new WeakMap<Command, CommandProcess>();

/** Called once for the whole program, so that a test can run it beside others in one process. */
export const runIn = (program: Command, its: CommandProcess): void => void processes.set(program, its);

export function processOf(command: Command): CommandProcess {
  return command.parent ? processOf(command.parent) : (processes.get(command) ?? process);
}
