import type { Command } from 'commander';
import { customEvents } from '../../families/index.ts';
import { wholeNumber } from '../declare.ts';
import { declareFamily } from '../declare-family.ts';

export function addCustomEventCommands(program: Command): void {
  declareFamily(program, customEvents, {
    actions: {
      send: {
        description:
          'Tells that an event has happened to one contact, named by its id or its address. Each enabled automation that names the event gets a run; two calls are two runs.\n\n' +
          'With --file it sends many, one JSON object a line: {"event", "contact_id" or "email", "payload"}. A line without "event" is of the one named here.',
        add: (command) =>
          command
            .option('--file <file>', 'send the events of this file, one JSON object a line; - for standard input')
            .option('--from-line <n>', 'with --file: begin at this line', wholeNumber),
        run: async (...call) => (await import('./send.ts')).runSendEvent(...call),
      },
    },
  });
}
