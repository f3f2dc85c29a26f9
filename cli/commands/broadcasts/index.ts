import type { Command } from 'commander';
import { broadcastExclusions, broadcastLinks, broadcastRecipients, broadcasts } from '../../families/index.ts';
import { declareFamily } from '../declare-family.ts';

export function addBroadcastCommands(program: Command): void {
  declareFamily(program, broadcasts, {
    actions: {
      send: {
        add: (command) => command.option('--watch', 'show how far it is, until all its emails are created'),
        run: async (...call) => (await import('./send.ts')).runSend(...call),
      },
    },
  });
  for (const family of [broadcastRecipients, broadcastExclusions, broadcastLinks]) declareFamily(program, family);
}
