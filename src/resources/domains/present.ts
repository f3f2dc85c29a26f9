import { isoTime } from '../../platform/clock/index.ts';
import type { DomainRow, RecordRow } from './domains.store.ts';

export function presentDomainItem(row: DomainRow) {
  return {
    id: row.id,
    name: row.name,
    status: row.status,
    created_at: isoTime(row.created_at),
    region: row.region,
    open_tracking: row.open_tracking === 1,
    click_tracking: row.click_tracking === 1,
    capabilities: {
      sending: row.status === 'verified' ? ('verified' as const) : ('pending' as const),
      receiving: 'unsupported' as const,
    },
  };
}

export function presentDomain(row: DomainRow, records: RecordRow[]) {
  return {
    object: 'domain' as const,
    ...presentDomainItem(row),
    tracking_subdomain: row.tracking_subdomain,
    records: records.map((record) => ({
      record: record.record,
      name: record.name,
      type: record.type,
      ttl: 'Auto',
      status: record.status,
      value: record.value,
      ...(record.priority === null ? {} : { priority: record.priority }),
    })),
  };
}
