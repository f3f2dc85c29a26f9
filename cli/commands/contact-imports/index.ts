import type { Command } from 'commander';
import { contactImports } from '../../families/index.ts';
import { act, collect, declareCommand } from '../declare.ts';
import { addWords, declareFamily } from '../declare-family.ts';
import { nameFields } from '../field-names.ts';

export const addContactImportCommands = (program: Command): void =>
  declareFamily(program, contactImports, (parent) => {
    declareImport(parent);
    declareFailures(parent);
  });

function declareImport(parent: Command): void {
  const create = declareCommand(parent, 'import', {
    summary: 'import contacts from a CSV file',
    description:
      'Sends a CSV file of at most 50 MB and shows how its rows are read. Columns of the obvious names (email, first name, …) and of declared properties are taken, or those that --column and --property name.',
    example: 'contacts import people.csv --column email=Mail --property plan=Tarif --property seats:number=Plätze',
  })
    .argument('<file>', 'the CSV file')
    .option(
      '--column <column>',
      'email=, first_name=, last_name=, unsubscribed=, segment_ids=, opted_in_topic_ids= or opted_out_topic_ids= a column; repeatable',
      collect,
    )
    .option('--property <column>', 'key=column, or key:number=column or key:boolean=column; repeatable', collect)
    .option('--upsert', 'update who is a contact already, instead of leaving them alone')
    .option('--segment <id>', 'add them to this segment; repeatable', collect)
    .option('--topic <choice>', 'ID=opt_in or ID=opt_out; repeatable', collect)
    .option('--no-wait', 'only hand the file in')
    .action(
      act(async (session, [file = ''], options) => (await import('./import.ts')).runImport(session, file, options)),
    );
  nameFields(create, { file: '<file>', column_map: '--column', segments: '--segment', topics: '--topic' });
}

function declareFailures(parent: Command): void {
  const failures = declareCommand(parent, 'import-failures', {
    summary: 'show which rows of an import failed, and why',
    example: 'contacts import-failures 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e40',
  });
  addWords(failures, contactImports.get.path).action(
    act(async (session, [id = '']) => (await import('./failures.ts')).showFailures(session, id)),
  );
}
