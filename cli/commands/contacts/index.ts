import type { Command } from 'commander';
import { contactActivity, contactSegments, contacts, contactTopics } from '../../families/index.ts';
import { act, declareCommand, wholeNumber } from '../declare.ts';
import { declareFamily } from '../declare-family.ts';

export function addContactCommands(program: Command): void {
  declareFamily(program, contacts, {
    add: declareExports,
    actions: {
      create: {
        description:
          'Create a contact. If the address is already a contact, it is updated: the fields that you name change, and it is never resubscribed. An address that had unsubscribed before its contact was erased starts unsubscribed.\n\n' +
          'With --file, creates or updates many contacts, one JSON object per line: {"email", "first_name", "properties", …}. The lines are sent in batches of up to 1,000. Unlike an import, this notifies webhooks and starts automations.',
        add: (command) =>
          command
            .option('--file <file>', 'send the contacts in this file, one JSON object per line; - for standard input')
            .option('--from-line <n>', 'with --file: start at this line', wholeNumber),
        run: async (...call) => (await import('./create.ts')).runCreateContact(...call),
      },
    },
  });
  for (const family of [contactActivity, contactSegments, contactTopics]) declareFamily(program, family);
}

function declareExports(parent: Command): void {
  declareExport(parent);
  declarePersonExport(parent);
}

function declareExport(parent: Command): void {
  declareCommand(parent, 'export', {
    summary: 'export contacts to a file that contacts import accepts',
    description:
      'Write all contacts, or those of a segment, as CSV, or with --ndjson as one JSON object per line. Values that a spreadsheet would run as a formula get an apostrophe before them. At a terminal, control characters are removed.',
    example: 'contacts export --output contacts.csv',
  })
    .option('--segment-id <segment>', 'only the contacts that are in this segment now, by its id')
    .option('--ndjson', 'write one JSON object per line')
    .option('--output <file>', 'the file to write (default: standard output)')
    .option('--force', 'replace an existing file')
    .action(act(async (session, _, options) => (await import('./export.ts')).exportContacts(session, options)));
}

function declarePersonExport(parent: Command): void {
  declareCommand(parent, 'export-person', {
    summary: 'export everything that the team has about a person, as JSON',
    description:
      'Write one JSON document with the contact, its consent records and activity, mail to and from the address, threads, the suppression, automation runs and custom events. All spellings of the address are found. The file can be read only by the account that runs the command. Read it before you pass it on: notes of your team and mail of other people may name others.',
    example: 'contacts export-person ada@example.org --output ada.json',
  })
    .argument('<email>', 'the address of the person')
    .option('--bodies', 'include the texts of mail to the person alone and from the person')
    .option('--output <file>', 'the file to write (default: standard output)')
    .option('--force', 'replace an existing file')
    .action(
      act(async (session, [email = ''], options) =>
        (await import('./export.ts')).exportPerson(session, email, options),
      ),
    );
}
