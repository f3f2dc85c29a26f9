import type { Command } from 'commander';
import { customEvents } from '../../families/index.ts';
import { wholeNumber } from '../declare.ts';
import { declareFamily } from '../declare-family.ts';

export function addCustomEventCommands(program: Command): void {
  declareFamily(program, customEvents, {
    actions: {
      send: {
        description:
          'Record an event for one contact, given by id or address. Each enabled automation with this event as its trigger starts a run; two calls start two runs.\n\n' +
          'With --file, sends many events, one JSON object per line: {"event", "contact_id" or "email", "payload"}. A line without "event" uses the event of the command line. The lines are sent in batches of up to 1,000.',
        add: (command) =>
          command
            .option('--file <file>', 'send the events in this file, one JSON object per line; - for standard input')
            .option('--from-line <n>', 'with --file: start at this line', wholeNumber),
        run: async (...call) => (await import('./send.ts')).runSendEvent(...call),
      },
    },
  });
}
