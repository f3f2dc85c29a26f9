import type { Executor } from '../../platform/db/index.ts';
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
import { readOwnHosts, type OwnHosts } from '../../tenancy/instance/index.ts';
import { invalidFields, type Refusal } from '../../platform/refusal.ts';
import type { Verdict } from '../../protocol/dns-diagnosis/index.ts';
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import type { SealedColumn } from '../../platform/secrets/index.ts';
import { dkimPublicRecord } from '../../protocol/dkim/index.ts';
import { recordsToCheck } from './domains.store.ts';
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
export async function expectedRecords(
  store: Store,
  db: Executor,
  domain: DomainRow,
  keys: readonly DkimKeyRow[],
): Promise<RecordRow[]> {
  return buildRecords(store, await readOwnHosts(store, db), domain, keys);
}

function buildRecords(store: Store, hosts: OwnHosts, domain: DomainRow, keys: readonly DkimKeyRow[]): RecordRow[] {
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
    ...stsRecords(store, domain, hosts),
  ];
  return records.map((record, position) => ({
    priority: null,
    key_status: null,
    named_host: null,
    ...record,
    domain_id: domain.id,
    position,
    status: 'not_started',
  }));
}

const BESIDE = ['active', 'incoming', 'retiring'] as const;

/**
 * Builds the records of a domain anew, with the known status of those that are stored. While a change of the host name
 * is in its grace period, a record with the other name is the same record.
 */
export async function rebuildRecords(
  store: Store,
  tx: Executor,
  { domain, keys, stored: known }: { domain: DomainRow; keys: readonly DkimKeyRow[]; stored: readonly RecordRow[] },
): Promise<RecordRow[]> {
  const hosts = await readOwnHosts(store, tx);
  const current = known.map((record) => toPresentHost(store.config, hosts, record));
  return buildRecords(store, hosts, domain, keys).map((record) => {
    const before = current.find((other) => isSameRecord(other, record));
    if (!before) return record;
    // The need for a CAA record is found by a check, not computed.
    const required = record.record === 'TrackingCAA' ? before.required : record.required;
    return { ...record, status: before.status, required, named_host: before.named_host };
  });
}

/** Returns the stored records of a domain as they have to be published now, also right after a change of the host name. */
export async function readCurrentRecords(
  store: Pick<Store, 'config' | 'clock' | 'db'>,
  domainId: string,
): Promise<RecordRow[]> {
  const hosts = await readOwnHosts(store, store.db);
  return (await recordsToCheck(store.db, domainId)).map((record) => toPresentHost(store.config, hosts, record));
}

/** Puts the present host name into a record that was stored with the other one. */
export function toPresentHost(config: Config, { other }: OwnHosts, record: RecordRow): RecordRow {
  const value = valueWithHost(config, record, config.instance.host);
  if (other === undefined || value === undefined || value === record.value) return record;
  if (record.value !== valueWithHost(config, record, other)) return record;
  return { ...record, value, named_host: record.status === 'verified' ? other : null };
}

/**
 * Returns the value of a record if this host name were that of the installation; undefined for a record that does not
 * depend on the name.
 */
export function valueWithHost(
  { domains, tracking, mta_sts: sts }: Config,
  { record, type }: { record: string; type: RecordRow['type'] },
  host: string,
): string | undefined {
  const insert = (template: string): string => template.replaceAll('{host}', host);
  if (record === 'SPF') return insert(type === 'MX' ? domains.return_path_mx : domains.spf);
  if (record === 'Receiving') return insert(domains.receiving_mx);
  if (record === 'Tracking') return insert(tracking.host).toLowerCase();
  return record === 'MTA-STS' && type === 'CNAME' ? insert(sts.host).toLowerCase() : undefined;
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

/** Returns the address whose mail unsubscribes contacts of a domain's team. It is at the return path too. */
export const unsubscribeAddress = (domain: Pick<DomainRow, 'name' | 'custom_return_path'>): string =>
  `unsubscribe@${returnPathName(domain)}`;

/** Adds the value with the present host name. */
const withHost = <Kind extends Pick<RecordRow, 'record' | 'type'>>(config: Config, kind: Kind) => ({
  ...kind,
  value: valueWithHost(config, kind, config.instance.host) ?? '',
});

function returnPathRecords({ config }: Store, domain: DomainRow): WantedRecord[] {
  const name = returnPathName(domain);
  const { mx_priority: priority } = config.domains;
  return [
    { ...withHost(config, { record: 'SPF', type: 'MX' }), name, priority, required: 1 },
    { ...withHost(config, { record: 'SPF', type: 'TXT' }), name, required: 1 },
  ];
}

function receivingRecord({ config }: Store, domain: DomainRow): WantedRecord {
  const { mx_priority: priority } = config.domains;
  return { ...withHost(config, { record: 'Receiving', type: 'MX' }), name: domain.name, priority, required: 1 };
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
  /** The other host name of a change of the host, if the record is right but contains that one. */
  namedHost?: string;
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
  const name = `${domain.tracking_subdomain}.${domain.name}`;
  return [{ ...withHost(config, { record: 'Tracking', type: 'CNAME' }), name, required: 0 }];
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
