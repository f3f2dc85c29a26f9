import type { DnsChange } from '../../src/contract/index.ts';
import type { Family, Field, Tone } from './family.ts';
import { actionOf } from './family.ts';
import { DOMAIN } from './domains.ts';

const TONES: Record<DnsChange['action'], Tone> = { create: 'good', replace: 'attention', delete: 'bad' };

/** What would change in a zone: a function, because every value that is exported here stands for a family. */
export const columnsOfChanges = (): readonly Field<DnsChange>[] => [
  { name: 'action', label: 'Action', kind: 'state', tone: (change) => TONES[change.action] },
  { name: 'type', label: 'Type', kind: 'whole' },
  { name: 'name', label: 'Name', kind: 'whole' },
  { name: 'priority', label: 'Priority', kind: 'number' },
  { name: 'ttl', label: 'TTL', kind: 'whole' },
  { name: 'value', label: 'Value', kind: 'long' },
];

const configure = actionOf('configureDomainDns', {
  verb: 'configure',
  key: 'n',
  summary: 'publish the DNS records with a DNS provider',
  description:
    'Shows what would change in the zone, asks, and changes it. Only records that were published this way are ever replaced or removed.',
  example: 'domains configure mail.example.com --dry-run',
  path: { domain_id: DOMAIN },
  flags: {
    provider: {
      value: '<name>',
      says: 'the DNS provider, where there is more than one for the zone',
    },
    api_token: {
      flag: 'token',
      value: '<token>',
      says: 'a Cloudflare API token of your own, used this once and not kept, for the provider cloudflare',
      isSecret: true,
      place: 'form',
    },
    remove: { says: 'take back everything that was published', isBoolean: true },
  },
});

/** People think of the domain, not of its DNS: `rasket domains zone` and `rasket domains configure`. */
export const dns = {
  command: 'domains',
  summary: 'publish the records of a domain',
  noun: 'a zone',
  actions: [
    actionOf('getDomainZone', {
      verb: 'zone',
      key: 'z',
      summary: 'print the DNS records to publish as a zone file',
      description:
        'Prints the records to publish as lines of a BIND zone file, to be added to the zone or included in it.',
      example: 'domains zone mail.example.com',
      path: { domain_id: DOMAIN },
      tell: (zone) => zone.replace(/\n$/, ''),
    }),
    configure,
  ],
} satisfies Family;
