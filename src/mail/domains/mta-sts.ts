import type { Config } from '../../platform/config/index.ts';
import { refuse, type Refusal } from '../../platform/refusal.ts';
import type { Store } from '../../platform/store.ts';
import { readOwnHosts, type OwnHosts } from '../../tenancy/instance/index.ts';
import { stsPolicyId, writeStsPolicy, type StsMode } from '../../protocol/mta-sts.ts';
import type { DomainRow, RecordRow, WantedRecord } from './domain-rows.ts';
import { findServedName, withdrawalOfAbsent } from './mta-sts.store.ts';

/** The label of the policy host, which RFC 8461 §3.3 fixes. */
const LABEL = 'mta-sts';

/** One day, the "small" value of RFC 8461 §8.3: this policy only has to replace an earlier one. */
const NONE_MAX_AGE_SECONDS = 86_400;

/** Returns the host to which domains point their policy hosts. */
export const policyHostTarget = ({ instance, mta_sts: { host } }: Config): string =>
  host.replaceAll('{host}', instance.host).toLowerCase();

function maxAgeSeconds({ mta_sts: sts }: Config, mode: StsMode): number {
  if (mode === 'none') return NONE_MAX_AGE_SECONDS;
  return mode === 'testing' ? sts.testing_max_age : sts.enforce_max_age;
}

/** Returns the names of the only mail server: both during the grace period of a change of the host name. */
export const policyMx = ({ domains }: Config, { all }: OwnHosts): string[] => [
  ...new Set(all.map((host) => domains.receiving_mx.replaceAll('{host}', host).toLowerCase())),
];

/** Writes the policy of every domain with this mode: all are received by the same server. */
function policyText(config: Config, mode: StsMode, hosts: OwnHosts): string {
  const mx = mode === 'none' ? [] : policyMx(config, hosts);
  return writeStsPolicy({ mode, maxAgeSeconds: maxAgeSeconds(config, mode), mx });
}

type StsDomain = Pick<DomainRow, 'name' | 'mta_sts' | 'sts_cached_until'>;

/** Returns when the withdrawal of the policy ends; undefined if none is being withdrawn. */
export const withdrawnUntil = (
  { mta_sts: mode, sts_cached_until: until }: Omit<StsDomain, 'name'>,
  now: number,
): number | undefined => (mode === 'off' && until !== null && until > now ? until : undefined);

/**
 * Builds the records of MTA-STS: the policy host, and the id of the policy, which changes with it. They are wanted until
 * a withdrawal has ended, because senders that know an earlier policy look for a newer one there.
 */
export function stsRecords(
  { config, clock }: Pick<Store, 'config' | 'clock'>,
  domain: StsDomain,
  hosts: OwnHosts,
): WantedRecord[] {
  if (domain.mta_sts !== 'off') return recordsFor(config, { name: domain.name, mode: domain.mta_sts, hosts });
  const isOver = withdrawnUntil(domain, clock.now()) === undefined;
  return isOver ? [] : recordsFor(config, { name: domain.name, mode: 'none', hosts });
}

function recordsFor(
  config: Config,
  { name, mode, hosts }: { name: string; mode: StsMode; hosts: OwnHosts },
): WantedRecord[] {
  const id = stsPolicyId(policyText(config, mode, hosts));
  return [
    { record: 'MTA-STS', name: `${LABEL}.${name}`, type: 'CNAME', value: policyHostTarget(config), required: 0 },
    { record: 'MTA-STS', name: `_mta-sts.${name}`, type: 'TXT', value: `v=STSv1; id=${id}`, required: 0 },
  ];
}

/** Returns the records that a removed domain still needs, until its policy is withdrawn. */
export async function recordsOfAbsent(
  store: Store,
  domain: Pick<DomainRow, 'name' | 'team_id'>,
): Promise<WantedRecord[]> {
  const { config, clock, db } = store;
  const until = await withdrawalOfAbsent(db, domain, clock.now());
  if (until === undefined) return [];
  return recordsFor(config, { name: domain.name, mode: 'none', hosts: await readOwnHosts(store, db) });
}

/** Returns the policy that is served at a host; undefined for a host that is not, or not any more, a policy host. */
export async function findServedPolicy(
  store: Pick<Store, 'config' | 'clock' | 'db'>,
  host: string,
): Promise<string | undefined> {
  const { config, clock, db } = store;
  if (!host.startsWith(`${LABEL}.`)) return undefined;
  const { mode, status, cached_until: until } = await findServedName(db, host.slice(LABEL.length + 1));
  const hosts = await readOwnHosts(store, db);
  if (mode !== null && mode !== 'off') return status === 'verified' ? policyText(config, mode, hosts) : undefined;
  return until !== null && until > clock.now() ? policyText(config, 'none', hosts) : undefined;
}

/**
 * Returns until when senders may apply the policies of a domain once its mode ends now. A policy that was never served,
 * because the name was not owned or its host never seen, is in no cache.
 */
export function cachedUntilAfter(
  { config, clock }: Pick<Store, 'config' | 'clock'>,
  domain: DomainRow,
  records: readonly RecordRow[],
): number | null {
  const { mta_sts: mode, sts_cached_until: before } = domain;
  const host = records.find(({ record, type }) => record === 'MTA-STS' && type === 'CNAME');
  const wasServed = host !== undefined && host.status !== 'not_started' && host.status !== 'pending';
  if (mode === 'off' || domain.held_at === null || !wasServed) return before;
  return Math.max(before ?? 0, clock.now() + maxAgeSeconds(config, mode) * 1000);
}

/** Refuses a mode that the domain cannot have. */
export function mustAllowMode(domain: DomainRow): void {
  if (domain.mta_sts === 'off') return;
  if (domain.receiving !== 'enabled') {
    throw invalid('the domain does not receive mail here; set capabilities.receiving to enabled first.');
  }
  const labels = [
    ['the return path', domain.custom_return_path],
    ['tracked links', domain.open_tracking || domain.click_tracking ? domain.tracking_subdomain : ''],
  ] as const;
  const taken = labels.find(([, label]) => label === LABEL);
  if (taken) throw invalid(`the name ${LABEL}.${domain.name} is used for ${taken[0]}; it must be the policy host.`);
}

/**
 * Refuses to enforce a policy that senders have not been able to read in testing, or whose mail server is not that of the
 * domain: a mistake would keep mail away. A domain that is enforced already stays so.
 */
export function mustAllowEnforcing(mode: DomainRow['mta_sts'], records: readonly RecordRow[]): void {
  if (mode === 'off') throw invalid('a policy starts in testing; set it to testing first, and to enforce later.');
  // Without its MX record, mail goes to a server that the policy does not name.
  const unseen = records.filter(
    ({ record, status }) => (record === 'MTA-STS' || record === 'Receiving') && status !== 'verified',
  );
  if (unseen.length === 0) return;
  const names = unseen.map(({ type, name }) => `the ${type} record at ${name}`).join(' and ');
  const verb = unseen.length === 1 ? 'is' : 'are';
  throw invalid(`${names} ${verb} not verified; publish what is asked for, verify the domain, and try again.`);
}

function invalid(fault: string): Refusal {
  const message = `mta_sts: ${fault}`;
  return refuse('validation_error', { status: 422, say: message, errors: [{ path: 'mta_sts', message }] });
}
