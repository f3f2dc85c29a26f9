import type { Command } from 'commander';
import { act, declareCommand } from '../declare.ts';

const WITHOUT_KEY = { key: false };

export function addOperationCommands(program: Command): void {
  declareCommand(program, 'health', { summary: 'ask whether the server lives', example: 'health' }).action(
    act(async (session) => (await import('./health.ts')).getHealth(session), WITHOUT_KEY),
  );
  declareCommand(program, 'ready', {
    summary: 'ask whether the server can serve requests',
    description: 'Shows every check of the server; the status is 1 while any of them fails.',
    example: 'ready',
  }).action(act(async (session) => (await import('./ready.ts')).getReady(session), WITHOUT_KEY));
}
