import type { Store } from '../../platform/store/index.ts';
import { publishedKey } from './dkim-key.ts';
import { isSameRecord, type DkimKeyRow, type DomainRow, type RecordRow, type WantedRecord } from './domain-rows.ts';
import { trackingRecords } from './tracking-record.ts';

/**
 * What a team publishes: its DKIM key, MX and SPF at the return path, where bounces come back, and what it has switched
 * on besides. The key that mail is signed with stands first, the records that are only advised last.
 */
export function expectedRecords(store: Store, domain: DomainRow, keys: readonly DkimKeyRow[]): RecordRow[] {
  const isMain = (key: DkimKeyRow): boolean => key.status === 'active' && key.algorithm === 'rsa-sha256';
  const records: WantedRecord[] = [
    ...keys.filter(isMain).map((key) => dkimRecord(store, domain, key)),
    ...returnPathRecords(store, domain),
    ...(domain.receiving === 'enabled' ? [receivingRecord(store, domain)] : []),
    ...trackingRecords(store.config, domain),
    ...BESIDE.flatMap((status) => keys.filter((key) => key.status === status && !isMain(key))).map((key) =>
      dkimRecord(store, domain, key),
    ),
    { record: 'DMARC', name: `_dmarc.${domain.name}`, type: 'TXT', value: store.config.domains.dmarc, required: 0 },
  ];
  return records.map((record, position) => ({
    priority: null,
    key_status: null,
    ...record,
    domain_id: domain.id,
    position,
    status: 'not_started',
  }));
}

const BESIDE = ['active', 'incoming', 'retiring'] as const;

/** The same records with what is known already of those among them that stood before. */
export function carryOver(wanted: readonly RecordRow[], known: readonly RecordRow[]): RecordRow[] {
  return wanted.map((record) => {
    const before = known.find((other) => isSameRecord(other, record));
    if (!before) return record;
    // Whether a CAA record is needed is not expected but found.
    const required = record.record === 'TrackingCAA' ? before.required : record.required;
    return { ...record, status: before.status, required };
  });
}

function dkimRecord(store: Store, domain: DomainRow, key: DkimKeyRow): WantedRecord {
  return {
    record: 'DKIM',
    name: `${key.selector}._domainkey.${domain.name}`,
    type: 'TXT',
    value: publishedKey(store, key),
    required: key.status === 'active' && key.algorithm === 'rsa-sha256' ? 1 : 0,
    key_status: key.status,
  };
}

function returnPathRecords({ config }: Store, domain: DomainRow): WantedRecord[] {
  const name = `${domain.custom_return_path}.${domain.name}`;
  const { return_path_mx: mx, mx_priority: priority, spf } = config.domains;
  const { host } = config.instance;
  return [
    { record: 'SPF', name, type: 'MX', value: mx.replaceAll('{host}', host), priority, required: 1 },
    { record: 'SPF', name, type: 'TXT', value: spf.replaceAll('{host}', host), required: 1 },
  ];
}

function receivingRecord({ config }: Store, domain: DomainRow): WantedRecord {
  const { receiving_mx: mx, mx_priority: priority } = config.domains;
  const value = mx.replaceAll('{host}', config.instance.host);
  return { record: 'Receiving', name: domain.name, type: 'MX', value, priority, required: 1 };
}
