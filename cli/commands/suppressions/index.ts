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
          'Remove addresses, at most 100, from the suppression list, so that mail is sent to them again. An address that is not suppressed is an error if it is the only one, and is skipped otherwise. The command asks for confirmation if there are several, unless --yes is given.',
        add: (command) =>
          nameFields(command, { emails: '<suppression>', ids: '<suppression>' }).option(
            '--yes',
            'do not ask for confirmation',
          ),
        run: async (...call) => (await import('./remove.ts')).removeSuppressions(...call),
      },
    },
  });
