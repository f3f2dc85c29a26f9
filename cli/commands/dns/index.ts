import type { Command } from 'commander';
import { dns } from '../../families/dns.ts';
import { declareFamily } from '../declare-family.ts';
import { nameFields } from '../command-options.ts';

export const addDnsCommands = (program: Command): void =>
  declareFamily(program, dns, {
    actions: {
      configure: {
        add: (command) =>
          nameFields(command, { api_token: '--with-token' })
            .option(
              '--with-token',
              'use a Cloudflare API token of yours, from CLOUDFLARE_API_TOKEN or typed; it is not stored',
            )
            .option('--dry-run', 'show the changes and do not make them')
            .option('--yes', 'do not ask for confirmation'),
        run: async (...call) => (await import('./configure.ts')).configureDomain(...call),
      },
    },
  });
