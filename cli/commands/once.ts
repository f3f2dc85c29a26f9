import { InvalidArgumentError, type Command } from 'commander';

/** Where a command may be run again because nobody knows whether it was done. */
export const addOnce = (command: Command): Command =>
  command.option('--idempotency-key <key>', 'makes it safe to run the same command again within 24 hours', headerText);

function headerText(value: string): string {
  if (/^[\x20-\x7E]+$/.test(value)) return value;
  throw new InvalidArgumentError('It takes ASCII letters, digits and signs, such as digest-2026-11-20.');
}
