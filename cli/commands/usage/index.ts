import type { Command } from 'commander';
import { act, declareCommand } from '../declare.ts';

export function addUsageCommands(program: Command): void {
  declareCommand(program, 'usage', {
    summary: 'show how much of its plan your team has used',
    example: 'usage',
  }).action(act(async (session) => (await import('./get.ts')).getUsage(session)));
}
