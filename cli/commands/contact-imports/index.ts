import type { Command } from 'commander';
import { contactImports } from '../../families/index.ts';
import { readPath } from '../../input/find-id.ts';
import { act, declareCommand } from '../declare.ts';
import { declareFamily, addWords } from '../declare-family.ts';
import { nameFields } from '../command-options.ts';

export const addContactImportCommands = (program: Command): void =>
  declareFamily(program, contactImports, {
    add: declareFailures,
    actions: {
      import: {
        add: (command) =>
          nameFields(command, { column_map: '--column' }).option(
            '--no-wait',
            'upload the file and do not wait for the import',
          ),
        run: async (...call) => (await import('./import.ts')).runImport(...call),
      },
    },
  });

function declareFailures(parent: Command): void {
  const failures = declareCommand(parent, 'import-failures', {
    summary: 'show which rows of an import failed, and why',
    description:
      'Show which rows of an import failed, and which values others were imported without. With --output, save the failed rows as a CSV file with their row numbers and the reasons; once it is fixed, import it like the original.',
    example: 'contacts import-failures 019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e40 --output failed.csv',
  });
  addWords(failures, contactImports.get.path, true)
    .option('--output <file>', 'save the failed rows to this file; - for standard output')
    .option('--force', 'replace an existing file')
    .action(
      act(async (session, [id = ''], options) => {
        const { import_id: found = '' } = await readPath(session.client, contactImports.get.path, [id], true);
        await (await import('./failures.ts')).showFailures(session, found, options);
      }),
    );
}
