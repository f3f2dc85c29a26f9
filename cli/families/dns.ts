import type { DnsChange } from '../../src/contract/index.ts';
import type { Family, Field, Tone } from './family.ts';
import { declareAction } from './family.ts';

const TONES: Record<DnsChange['action'], Tone> = { create: 'good', replace: 'attention', delete: 'bad' };

/**
 * Returns the columns for changes of a zone. A function, because every value that is exported here stands for a family.
 */
export const columnsOfChanges = (): readonly Field<DnsChange>[] => [
  { name: 'action', label: 'Action', kind: 'state', tone: (change) => TONES[change.action] },
  { name: 'type', label: 'Type', kind: 'whole' },
  { name: 'name', label: 'Name', kind: 'whole' },
  { name: 'priority', label: 'Priority', kind: 'number' },
  { name: 'ttl', label: 'TTL', kind: 'whole' },
  { name: 'value', label: 'Value', kind: 'long' },
];

const configure = declareAction('configureDomainDns');

/** People think of the domain, not of its DNS: `rasket domains zone` and `rasket domains configure`. */
export const dns = {
  command: 'domains',
  summary: 'publish the records of a domain',
  noun: 'a zone',
  actions: [declareAction('getDomainZone', { describe: (zone) => zone.replace(/\n$/, '') }), configure],
} satisfies Family;
