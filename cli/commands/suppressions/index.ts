import type { Command } from 'commander';
import { suppressions } from '../../families/suppressions.ts';
import { declareFamily } from '../declare-family.ts';
import { nameFields } from '../command-options.ts';

export const addSuppressionCommands = (program: Command): void =>
  declareFamily(program, suppressions, {
    actions: {
      // One is removed by its path, several after one confirmation and with one call.
      remove: {
        description:
          'Lets mail go to the addresses again. One that is not suppressed is refused when it stands alone and skipped among several, at most 100. Several are removed after a question, or with --yes.',
        add: (command) =>
          nameFields(command, { emails: '<suppression>', ids: '<suppression>' }).option(
            '--yes',
            'do it without asking',
          ),
        run: async (...call) => (await import('./remove.ts')).removeSuppressions(...call),
      },
    },
  });
