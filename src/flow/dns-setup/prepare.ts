import type { World } from '../../platform/world/index.ts';
import { isSamePlain, type PlainRecord } from '../../protocol/dns/index.ts';
import {
  fingerprintOf,
  findHeir,
  inheritanceOf,
  publishedFor,
  wantedRecords,
  type Inheritance,
  type PublishedRow,
} from '../../resources/dns/index.ts';
import { looksFor, planChanges, type Plan } from './plan-changes.ts';
import type { DnsProvider, Look, ZoneRecord } from './provider.ts';

export interface SetupDomain {
  id: string;
  team_id: string;
  name: string;
}

export interface Prepared {
  domain: SetupDomain;
  provider: DnsProvider;
  zone: string;
  plan: Plan;
  looks: Look[];
  seen: ZoneRecord[];
  ours: PublishedRow[];
  /** Ours, not wanted by this domain any more, but by the one that has its name now. */
  heirloom: { rows: PublishedRow[]; heirId: string } | undefined;
  /** What copies of the name that are gone, or another team's, have left behind: this one's to remove from now on. */
  inheritance: Inheritance | undefined;
  fingerprint: string;
}

/** Reads the zone and compares; it changes nothing there. */
export async function prepare(
  world: World,
  domain: SetupDomain,
  provider: DnsProvider,
  options: { zone?: string; isRemoval: boolean; ttlSeconds: number },
): Promise<Prepared> {
  const zone = options.zone ?? (await provider.zoneOf(domain.name));
  const wanted = options.isRemoval ? [] : await wantedRecords(world, domain);
  const isHere = (row: PublishedRow): boolean => row.provider === provider.name && row.zone === zone;
  const inheritance = wanted.length === 0 ? undefined : await inheritanceOf(world, domain, provider.name);
  const rows = [...(await publishedFor(world.db, domain.id)), ...(inheritance?.rows ?? [])].filter(isHere);
  const heirloom = await heirloomOf(world, domain, rows, wanted);
  const ours = rows.filter((row) => !heirloom?.rows.includes(row));
  const looks = looksFor(wanted, ours);
  const seen = looks.length === 0 ? [] : await provider.recordsAt(zone, looks);
  const plan = planChanges({ wanted, ours, seen, ttlSeconds: options.ttlSeconds });
  return { domain, provider, zone, plan, looks, seen, ours, heirloom, inheritance, fingerprint: fingerprintOf(wanted) };
}

async function heirloomOf(
  world: World,
  domain: SetupDomain,
  rows: readonly PublishedRow[],
  wanted: readonly PlainRecord[],
): Promise<Prepared['heirloom']> {
  const heir = await findHeir(world.db, domain);
  if (!heir) return undefined;
  const wants = await wantedRecords(world, { ...heir, name: domain.name });
  const has = (records: readonly PlainRecord[], row: PublishedRow): boolean =>
    records.some((record) => isSamePlain(record, row));
  return { rows: rows.filter((row) => !has(wanted, row) && has(wants, row)), heirId: heir.id };
}
