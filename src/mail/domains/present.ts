import type { Store } from '../../platform/store.ts';
import type { DomainData } from '../events/index.ts';
import { isoTime } from '../../platform/clock.ts';
import type { BimiRecord } from '../../protocol/dns-diagnosis/index.ts';
import { type DomainRow, type RecordRow, type WantedRecord } from './domain-rows.ts';
import type { RecordCheck } from './domain-records.ts';
import { listedRecords } from './domains.store.ts';
import { withdrawnUntil } from './mta-sts.ts';

export function presentDomainItem(row: Omit<DomainRow, 'sts_cached_until'>) {
  return {
    id: row.id,
    name: row.name,
    status: row.status,
    created_at: isoTime(row.created_at),
    region: row.region,
    open_tracking: row.open_tracking === 1,
    click_tracking: row.click_tracking === 1,
    capabilities: { sending: deriveSending(row), receiving: deriveReceiving(row) },
  };
}

/** Tells the caller until when the former MTA-STS policy is being withdrawn, and its records have to stay. */
export const presentWithdrawal = (until: number | undefined): { mta_sts_ends_at?: string } =>
  until === undefined ? {} : { mta_sts_ends_at: isoTime(until) };

/** Presents records that a removed domain still needs. Those that it had already keep their state. */
export const presentRemaining = (wanted: readonly WantedRecord[], records: readonly RecordRow[]) =>
  wanted.map(({ record, name, type, value, required }) => ({
    record,
    name,
    type,
    ttl: 'Auto',
    status:
      records.find((one) => one.record === record && one.type === type && one.value === value)?.status ??
      ('pending' as const),
    value,
    required: required === 1,
  }));

/** What DNS says of a domain now. */
export interface DomainCheck {
  findCheck: (record: RecordRow) => RecordCheck | undefined;
  bimi: BimiRecord | undefined;
}

/** Presents a domain. Only a check that was made for this response has diagnoses. */
export function presentDomain(
  { clock }: Pick<Store, 'clock'>,
  row: DomainRow,
  records: readonly RecordRow[],
  check?: DomainCheck,
) {
  return {
    object: 'domain' as const,
    ...presentDomainItem(row),
    tracking_subdomain: row.tracking_subdomain,
    tls: row.tls,
    tls_verify: row.tls_verify === 1,
    mta_sts: row.mta_sts,
    ...presentWithdrawal(withdrawnUntil(row, clock.now())),
    records: listedRecords(records).map((record) => ({
      ...presentRecord(record),
      diagnosis: check?.findCheck(record)?.diagnosis ?? null,
      found: check?.findCheck(record)?.found ?? null,
    })),
    bimi: check?.bimi ?? null,
  };
}

/** Returns the data of the domain.* events. */
export function presentDomainEvent(row: DomainRow, records: readonly RecordRow[]): DomainData {
  const { id, name, status, created_at, region } = presentDomainItem(row);
  return {
    id,
    name,
    status,
    created_at,
    region,
    records: listedRecords(records).map((record) => presentRecord(record)),
  };
}

function presentRecord(record: RecordRow) {
  return {
    record: record.record,
    name: record.name,
    type: record.type,
    ttl: 'Auto',
    status: record.status,
    value: record.value,
    ...(record.priority === null ? {} : { priority: record.priority }),
    required: record.required === 1,
    ...(record.key_status === null ? {} : { key_status: record.key_status }),
  };
}

function deriveSending(row: Pick<DomainRow, 'sending' | 'verified_at'>) {
  if (row.sending === 'disabled') return 'disabled' as const;
  return row.verified_at === null ? ('pending' as const) : ('verified' as const);
}

/**
 * Returns the state of receiving. An MX record alone does not show whose domain it is: it counts only if the name is
 * verified.
 */
function deriveReceiving(row: Pick<DomainRow, 'receiving' | 'receiving_verified_at' | 'verified_at'>) {
  if (row.receiving !== 'enabled') return row.receiving;
  return row.receiving_verified_at === null || row.verified_at === null ? ('pending' as const) : ('verified' as const);
}
