import type { Command } from 'commander';
import { queue, queuedEmail, queueHolds } from '../../families/queue.ts';
import { declareFamily } from '../declare-family.ts';

export function addQueueCommands(program: Command): void {
  declareFamily(program, queue);
  declareFamily(program, queuedEmail, {
    shown: {
      add: (command) => command.option('--transcript', 'with what was said to each mail server'),
      show: async ({ terminal }, item, { transcript }) =>
        (await import('./explain.ts')).explainQueuedEmail(terminal, item as never, transcript === true),
    },
  });
  declareFamily(program, queueHolds);
}
