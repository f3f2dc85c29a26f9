import type { Command } from 'commander';

/** The parts of a process that a command uses; `process` itself is one. */
export type CommandProcess = Pick<
  NodeJS.Process,
  'stdin' | 'stdout' | 'stderr' | 'env' | 'exitCode' | 'cwd' | 'once' | 'off'
>;

const processes = new WeakMap<Command, CommandProcess>();

/** Called once for the whole program, so that tests can run several in one process. */
export const runIn = (program: Command, its: CommandProcess): void => void processes.set(program, its);

export function findProcess(command: Command): CommandProcess {
  return command.parent ? findProcess(command.parent) : (processes.get(command) ?? process);
}

/** Exit codes by what went wrong: the numbers of sysexits.h, if it has one. */
export const EXIT = {
  done: 0,
  failed: 1,
  usage: 64,
  refused: 65,
  notFound: 66,
  unreachable: 69,
  server: 70,
  limit: 75,
  auth: 77,
} as const;

export type Ending = keyof typeof EXIT;

/** `rasket --help` and its manual use the same words. */
export const EXIT_CODES: readonly { code: number; says: string }[] = (
  [
    ['done', 'done'],
    ['failed', 'failed on this machine, canceled, or the result is negative, such as a domain that is not verified'],
    ['usage', 'wrong usage: an unknown command or option, or no terminal to ask a question'],
    ['refused', 'refused by the server: a field is wrong, or the current state does not allow the request'],
    ['notFound', 'not found'],
    ['unreachable', 'no server answered'],
    ['server', 'the server failed, or is not available'],
    ['limit', 'too many requests, or a quota is used up: try again later'],
    ['auth', 'no key, or the key is not accepted or lacks the permission'],
  ] as const
).map(([ending, says]) => ({ code: EXIT[ending], says }));
