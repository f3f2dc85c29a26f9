import type { Command } from 'commander';
import { contactActivity, contactSegments, contacts, contactTopics } from '../../families/index.ts';
import { act, declareCommand } from '../declare.ts';
import { declareFamily } from '../declare-family.ts';

export function addContactCommands(program: Command): void {
  declareFamily(program, contacts, { add: declareExport });
  for (const family of [contactActivity, contactSegments, contactTopics]) declareFamily(program, family);
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
