import type { DnsChange } from '../../src/contract/index.ts';
import { buildFields, declareAction, declareFamily, type Field } from './family.ts';

/**
 * Returns the columns for changes of a zone. A function, because every value that is exported here stands for a family.
 */
export const columnsOfChanges = (): readonly Field<DnsChange>[] =>
  buildFields<DnsChange>({
    fields: {
      action: { kind: 'state', tone: { create: 'good', replace: 'attention', delete: 'bad' } },
      type: { kind: 'whole' },
      name: { kind: 'whole' },
      priority: { kind: 'number' },
      ttl: { label: 'TTL', kind: 'whole' },
    },
    columns: ['action', 'type', 'name', 'priority', 'ttl', 'value'],
  });

/** People think of the domain, not of its DNS: `rasket domains zone` and `rasket domains configure`. */
export const dns = declareFamily({
  summary: 'publish the records of a domain',
  noun: 'a zone',
  actions: [
    declareAction('getDomainZone', { describe: (zone) => zone.replace(/\n$/, '') }),
    declareAction('configureDomainDns'),
  ],
});
