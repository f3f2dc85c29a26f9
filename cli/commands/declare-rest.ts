import type { Command } from 'commander';

const rests = new WeakMap<Command, () => void>();

/** What a command line did not need. */
export const keepRest = (program: Command, declare: () => void): void => void rests.set(program, declare);

/** For callers that look for any command of the program. */
export function declareRest(program: Command): void {
  const declare = rests.get(program);
  rests.delete(program);
  declare?.();
}
