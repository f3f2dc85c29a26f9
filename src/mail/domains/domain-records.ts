import type { Store } from '../../platform/store.ts';
import {
  isSameRecord,
  type DkimKeyRow,
  type DomainRow,
  type RecordRow,
  type WantedRecord,
  type KeyStatus,
} from './domain-rows.ts';
import type { Config } from '../../platform/config/index.ts';
import { invalidFields, type Refusal } from '../../platform/refusal.ts';
import type { Verdict } from '../../protocol/dns-diagnosis/index.ts';
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import type { SealedColumn } from '../../platform/secrets/index.ts';
import { dkimPublicRecord } from '../../protocol/dkim/index.ts';
import { stsRecords } from './mta-sts.ts';

export const RSA_BITS = 2048;
const SEALED_FOR = 'dkim private key';

export const SEALED_DKIM_KEYS: SealedColumn = {
  table: 'dkim_keys',
  column: 'private_key_sealed',
  purpose: SEALED_FOR,
};

/** 1024 for DNS hosts that cannot store the record of 2048; RFC 8301 §3.2 permits both. */
export type RsaBits = 1024 | 2048;

/**
 * Makes the keys of a domain that are used together: RSA, which every receiver understands, and Ed25519 in addition if
 * the configuration enables it. Selectors are random, so that the keys of two teams, or an old key and a new one,
 * coexist.
 */
export async function newDkimKeys(
  store: Store,
  domainId: string,
  options: { bits?: number; status?: KeyStatus } = {},
): Promise<DkimKeyRow[]> {
  const bits = options.bits ?? RSA_BITS;
  const at = store.clock.now();
  const buildKeyRow = (
    algorithm: DkimKeyRow['algorithm'],
    privateKey: KeyObject,
    id = store.ids.uuid(),
  ): DkimKeyRow => ({
    id,
    domain_id: domainId,
    selector: `rk${store.ids.hex(4)}`,
    algorithm,
    bits: algorithm === 'rsa-sha256' ? bits : null,
    private_key_sealed: store.secrets.seal(
      privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
      SEALED_FOR,
      id,
    ),
    created_at: at,
    status: options.status ?? 'active',
    status_at: at,
  });
  const rsa = buildKeyRow('rsa-sha256', await store.makeRsaKey(bits));
  if (!store.config.domains.ed25519) return [rsa];
  return [rsa, buildKeyRow('ed25519-sha256', generateKeyPairSync('ed25519').privateKey)];
}

export const openDkimKey = (store: Store, row: DkimKeyRow): KeyObject =>
  createPrivateKey(store.secrets.open(row.private_key_sealed, SEALED_FOR, row.id));

/** Returns the text of the TXT record that publishes a key. */
const publishedKey = (store: Store, row: DkimKeyRow): string =>
  dkimPublicRecord(createPublicKey(openDkimKey(store, row)));

/**
 * Builds the records that a team publishes: its DKIM key, MX and SPF at the return path, to which bounces are sent, and
 * those of the features it has switched on. The main signing key comes first, records that are only recommended last.
 */
export function expectedRecords(store: Store, domain: DomainRow, keys: readonly DkimKeyRow[]): RecordRow[] {
  const isMain = (key: DkimKeyRow): boolean => key.status === 'active' && key.algorithm === 'rsa-sha256';
  const records: WantedRecord[] = [
    ...keys.filter(isMain).map((key) => dkimRecord(store, domain, key)),
    ...returnPathRecords(store, domain),
    ...(domain.receiving === 'enabled' ? [receivingRecord(store, domain)] : []),
    ...trackingRecords(store.config, domain),
    ...authorityRecords(store.config, domain),
    ...BESIDE.flatMap((status) => keys.filter((key) => key.status === status && !isMain(key))).map((key) =>
      dkimRecord(store, domain, key),
    ),
    ...reportRecords(store.config, domain),
    ...stsRecords(store, domain),
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

/** Returns the wanted records with the known status of those that existed before. */
export function keepKnownStatus(wanted: readonly RecordRow[], known: readonly RecordRow[]): RecordRow[] {
  return wanted.map((record) => {
    const before = known.find((other) => isSameRecord(other, record));
    if (!before) return record;
    // The need for a CAA record is found by a check, not computed.
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

/** Returns the name to which bounces of a domain's mail are sent. */
const returnPathName = (domain: Pick<DomainRow, 'name' | 'custom_return_path'>): string =>
  `${domain.custom_return_path}.${domain.name}`;

/**
 * Returns the address at which a domain receives the DMARC and TLS reports about its mail. It is at the return path,
 * whose MX is this server, also for domains whose own mail is received elsewhere.
 */
export const reportAddress = (domain: Pick<DomainRow, 'name' | 'custom_return_path'>): string =>
  `reports@${returnPathName(domain)}`;

function returnPathRecords({ config }: Store, domain: DomainRow): WantedRecord[] {
  const name = returnPathName(domain);
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

/**
 * The DMARC policy, and the address for reports about the TLS of senders, which a domain that receives is advised to
 * publish. The reports come to the return path of the domain, so that nobody else has to authorize them (RFC 7489 §7.1).
 */
function reportRecords({ domains: { dmarc } }: Config, domain: DomainRow): WantedRecord[] {
  const { name } = domain;
  const policy = dmarc.replaceAll('{return_path}', returnPathName(domain));
  const reports = `v=TLSRPTv1; rua=mailto:${reportAddress(domain)}`;
  const records: WantedRecord[] = [
    { record: 'DMARC', name: `_dmarc.${name}`, type: 'TXT', value: policy, required: 0 },
  ];
  if (domain.receiving === 'enabled') {
    records.push({ record: 'TLS-RPT', name: `_smtp._tls.${name}`, type: 'TXT', value: reports, required: 0 });
  }
  return records;
}

/** The records found in DNS, sanitized and shortened. */
export interface Found {
  resolver: string[];
  /** Records from the zone's own name servers; empty if these were not queried. */
  authoritative: string[];
}

/** The DNS result for one record now, whatever was known of it before. */
export interface RecordCheck {
  record: RecordRow;
  /** `unknown`: no server gave a result. */
  verdict: Verdict;
  diagnosis: string | null;
  /** Null if DNS was not queried for this. */
  found: Found | null;
}

/** Returns undefined for a record that was not checked. */
export const findCheck = (checks: readonly RecordCheck[], record: RecordRow): RecordCheck | undefined =>
  checks.find((check) => isSameRecord(check.record, record));

/**
 * The tracking host, which the domain's owner points to us. Nothing else of the domain depends on it: while it is not
 * published, mail is sent without tracking.
 */
function trackingRecords(config: Config, domain: DomainRow): WantedRecord[] {
  if (!domain.open_tracking && !domain.click_tracking) return [];
  const value = config.tracking.host.replaceAll('{host}', config.instance.host).toLowerCase();
  const name = `${domain.tracking_subdomain}.${domain.name}`;
  return [{ record: 'Tracking', name, type: 'CNAME', value, required: 0 }];
}

/** Permission for an authority to certify the tracking host and the host of the MTA-STS policy. */
function authorityRecords({ tracking }: Config, domain: DomainRow): WantedRecord[] {
  if (!domain.open_tracking && !domain.click_tracking && domain.mta_sts === 'off') return [];
  return [
    // RFC 8659 §3: the record that forbids is at a parent name, and a CNAME excludes a CAA record at its own name.
    {
      record: 'TrackingCAA',
      name: domain.name,
      type: 'CAA',
      value: `0 issue "${tracking.caa_issuer}"`,
      required: 0,
    },
  ];
}

/** RFC 1034 §3.6.2: a CNAME excludes other records at its name, and the return path has two. */
export function returnPathClash(domain: DomainRow): Refusal | undefined {
  const { tracking_subdomain: label, custom_return_path: returnPath, open_tracking, click_tracking } = domain;
  if (label !== returnPath || (!open_tracking && !click_tracking)) return undefined;
  const message = `tracking_subdomain: "${label}" is the label of the return path, whose records cannot exist next to a CNAME; choose another label, such as ${label === 'track' ? 'links' : 'track'}.`;
  return invalidFields([{ path: 'tracking_subdomain', message }]);
}
