import type { Config } from '../../platform/config/index.ts';
import type { NewDkimKey } from './dkim-key.ts';
import type { DomainRow, RecordRow } from './domains.store.ts';
import { trackingRecord } from './tracking-record.ts';

/** What a team publishes: its DKIM key, MX and SPF at the return path, where bounces come back, and the tracking host. */
export function expectedRecords(config: Config, domain: DomainRow, key: NewDkimKey): RecordRow[] {
  const withHost = (text: string): string => text.replaceAll('{host}', config.instance.host);
  const returnPath = `${domain.custom_return_path}.${domain.name}`;
  const tracking = trackingRecord(config, domain);
  const unasked = { domain_id: domain.id, status: 'not_started' as const };
  return [
    {
      ...unasked,
      position: 0,
      record: 'DKIM',
      name: `${key.row.selector}._domainkey.${domain.name}`,
      type: 'TXT',
      value: key.record,
      priority: null,
    },
    {
      ...unasked,
      position: 1,
      record: 'SPF',
      name: returnPath,
      type: 'MX',
      value: withHost(config.domains.return_path_mx),
      priority: config.domains.mx_priority,
    },
    {
      ...unasked,
      position: 2,
      record: 'SPF',
      name: returnPath,
      type: 'TXT',
      value: withHost(config.domains.spf),
      priority: null,
    },
    ...(tracking ? [tracking] : []),
  ];
}
