import type { Command } from 'commander';
import { sso } from '../../families/sso.ts';
import { declareFamily } from '../declare-family.ts';
import { nameFields } from '../command-options.ts';

export const addSsoCommands = (program: Command): void =>
  declareFamily(program, sso, {
    shown: {
      add: () => undefined,
      show: async ({ terminal }, item) => (await import('./show.ts')).printSso(terminal, item as never),
    },
    actions: {
      'verify-domain': { run: async (...call) => (await import('./verify-domain.ts')).verifySsoDomain(...call) },
      set: {
        add: (command) =>
          nameFields(command, { client_secret: '--client-secret-file' }).option(
            '--client-secret-file <file>',
            'a file with the client secret; - for standard input. Without it, the command asks for the secret',
          ),
        run: async (...call) => (await import('./set.ts')).setSso(...call),
      },
    },
  });
