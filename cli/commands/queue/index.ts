import type { Command } from 'commander';
import { queue, queueHolds } from '../../families/queue.ts';
import { declareFamily } from '../declare-family.ts';

export function addQueueCommands(program: Command): void {
  declareFamily(program, queue, {
    shown: {
      add: (command) => command.option('--transcript', 'show the SMTP dialogue with each mail server'),
      show: async ({ terminal }, item, { transcript }) => {
        const { formatQueuedEmail } = await import('../../output/index.ts');
        for (const text of formatQueuedEmail(terminal, item as never, transcript === true)) terminal.printText(text);
      },
    },
  });
  declareFamily(program, queueHolds);
}
