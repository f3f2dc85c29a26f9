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
    summary: 'write contacts to a file that contacts import takes',
    description:
      'Writes all contacts, or those of a segment, as CSV or with --ndjson a JSON object a line. What a spreadsheet would run as a formula has an apostrophe before it. At a terminal, what would steer it is taken out.',
    example: 'contacts export --output contacts.csv',
  })
    .option('--segment-id <segment>', 'only those who are in this segment now, by its id')
    .option('--ndjson', 'a JSON object a line')
    .option('--output <file>', 'where to; standard output unless said otherwise')
    .option('--force', 'replace the file where it is there already')
    .action(act(async (session, _, options) => (await import('./export.ts')).exportContacts(session, options)));
}
