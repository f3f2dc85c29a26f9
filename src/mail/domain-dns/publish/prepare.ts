import type { World } from '../../../platform/world/index.ts';
import { isSamePlain, type PlainRecord } from '../../../protocol/dns/index.ts';
import {
  fingerprintOf,
  findHeirs,
  inheritanceOf,
  publishedFor,
  wantedRecords,
  type Inheritance,
  type PublishedRow,
} from '../../dns/index.ts';
import { queriesFor, planChanges, type Plan } from './plan-changes.ts';
import type { DnsProvider, RecordQuery, ZoneRecord } from './provider.ts';

export interface SetupDomain {
  id: string;
  team_id: string;
  name: string;
}

export interface Heirloom {
  row: PublishedRow;
  /** The domain that publishes there by itself; without one, the record stays where it is and this domain's to remove. */
  heirId: string | undefined;
}

export interface Prepared {
  domain: SetupDomain;
  provider: DnsProvider;
  zone: string;
  plan: Plan;
  queries: RecordQuery[];
  seen: ZoneRecord[];
  ours: PublishedRow[];
  /** Ours, not wanted by this domain any more, but by another. */
  heirlooms: Heirloom[];
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
  const heirlooms = await heirloomsAmong(world, domain, rows, wanted);
  const ours = rows.filter((row) => !heirlooms.some((heirloom) => heirloom.row === row));
  const queries = queriesFor(wanted, ours);
  const seen = queries.length === 0 ? [] : await provider.recordsAt(zone, queries);
  const plan = planChanges({ wanted, ours, seen, ttlSeconds: options.ttlSeconds });
  return {
    domain,
    provider,
    zone,
    plan,
    queries,
    seen,
    ours,
    heirlooms,
    inheritance,
    fingerprint: fingerprintOf(wanted),
  };
}

/**
 * A record belongs to everybody who wants it: the MX record of a return path is also that of a domain of its name which
 * receives. It goes with the last of them.
 */
async function heirloomsAmong(
  world: World,
  domain: SetupDomain,
  rows: readonly PublishedRow[],
  wanted: readonly PlainRecord[],
): Promise<Heirloom[]> {
  const left = rows.filter((row) => !wanted.some((record) => isSamePlain(record, row)));
  if (left.length === 0) return [];
  // What a domain wants stands at its name or below.
  const names = [...new Set(left.flatMap((row) => namesAbove(row.name)))];
  const heirs = await Promise.all(
    (await findHeirs(world.db, names, domain.id)).map(async (heir) => ({
      ...heir,
      wants: await wantedRecords(world, heir),
    })),
  );
  return left.flatMap((row) => {
    const wanting = heirs.filter(({ wants }) => wants.some((record) => isSamePlain(record, row)));
    const heir = wanting.find(({ provider, zone }) => provider === row.provider && zone === row.zone);
    return wanting.length > 0 ? [{ row, heirId: heir?.id }] : [];
  });
}

/** The name itself and every name above it. */
function namesAbove(name: string): string[] {
  const labels = name.toLowerCase().split('.');
  return labels.map((_, i) => labels.slice(i).join('.'));
}
