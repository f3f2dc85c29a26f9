import type { Command } from 'commander';
import { act, declareCommand } from '../declare.ts';

/** Spoken as `rasket domains zone` and `rasket domains configure`: people think of the domain, not of its DNS. */
export function addDnsCommands(domains: Command): void {
  declareCommand(domains, 'zone', {
    summary: 'print the DNS records to publish as a zone file',
    description:
      'Prints the records to publish as lines of a BIND zone file, to be added to the zone or included in it.',
    example: 'domains zone mail.example.com',
  })
    .argument('<domain>', 'its id or name')
    .action(act(async (session, [domain = '']) => (await import('./zone.ts')).printZone(session, domain)));
  declareCommand(domains, 'configure', {
    summary: 'publish the DNS records with a DNS provider',
    description:
      'Shows what would change in the zone, asks, and changes it. Only records that were published this way are ever replaced or removed.',
    example: 'domains configure mail.example.com --dry-run',
  })
    .argument('<domain>', 'its id or name')
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
