import type { Command } from 'commander';
import {
  broadcastExclusions,
  broadcastLinks,
  broadcastRecipients,
  broadcastReviews,
  broadcasts,
} from '../../families/index.ts';
import { declareFamily, type ActionByHand } from '../declare-family.ts';

const WATCHED: ActionByHand = {
  add: (command) => command.option('--watch', 'show the progress until all its emails are created'),
  run: async (...call) => (await import('./send.ts')).runSend(...call),
};

export function addBroadcastCommands(program: Command): void {
  declareFamily(program, broadcasts, {
    actions: {
      preview: {
        add: (command) => command.option('--open', 'show the HTML in a browser; its scripts do not run'),
        run: async (...call) => (await import('./preview.ts')).runPreview(...call),
      },
      send: WATCHED,
      resume: WATCHED,
      checklist: { run: async (...call) => (await import('./checklist.ts')).runChecklist(...call) },
      checks: { run: async (...call) => (await import('./checklist.ts')).runChecklist(...call) },
    },
  });
  const lists = [broadcastRecipients, broadcastExclusions, broadcastLinks, broadcastReviews];
  for (const family of lists) declareFamily(program, family);
}
