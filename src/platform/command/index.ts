/**
 * Programs that an operator names, run for an occasion: without a shell, with nothing of our environment but what any program
 * needs, and ended when their time is over.
 */
export { runCommand, type CommandEnd } from './run-command.ts';
