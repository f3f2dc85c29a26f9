import type { Command } from 'commander';
import { configure, dns } from '../../families/dns.ts';
import { act, declareCommand } from '../declare.ts';
import { addWords, declareFamily } from '../declare-family.ts';
import { nameFields } from '../field-names.ts';

export const addDnsCommands = (program: Command): void => declareFamily(program, dns, declareConfigure);

function declareConfigure(domains: Command): void {
  const command = nameFields(declareCommand(domains, configure.verb, configure), { api_token: '--with-token' });
  addWords(command, configure.path)
    .option('--provider <name>', 'the DNS provider, where there is more than one for the zone')
    .option('--with-token', 'use a Cloudflare API token of yours: CLOUDFLARE_API_TOKEN, or typed; it is not stored')
    .option('--dry-run', 'only show what would change')
    .option('--remove', 'take back everything that was published')
    .option('--yes', 'change it without asking')
    .action(
      act(async (session, [domain = ''], options) =>
        (await import('./configure.ts')).configureDomain(session, domain, options),
      ),
    );
}
