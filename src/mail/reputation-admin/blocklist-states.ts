import { isoTime } from '../../platform/clock.ts';
import type { Config } from '../../platform/config/index.ts';
import type { Finding } from '../../platform/finding.ts';
import { listUsedSources } from '../egress-admin/index.ts';

/** Reads the last results of the checks that examine the machines. */
export interface CheckReader {
  loadReport(): Promise<{ checks: readonly LastCheck[] }>;
}

interface LastCheck {
  name: string;
  state: string;
  checkedAt: number;
  findings: readonly Finding[];
  /** The addresses about which it could determine something. */
  examined: readonly string[];
}

interface Listing {
  address: string;
  zone: string;
}

/** The state of the addresses of a source on blocklists. */
export interface BlocklistState {
  /** Null for addresses of mail outside of pools. */
  source: string | null;
  addresses: string[];
  blocklists: { state: 'listed' | 'not_listed' | 'not_checked'; listed: Listing[]; checked_at: string | null };
}

/** Returns what blocklists said of each source of a pool when they were last asked, and of all other addresses together. */
export async function listBlocklistStates(config: Config, node: CheckReader): Promise<BlocklistState[]> {
  const checks = (await node.loadReport()).checks.filter(({ name, state }) => name === 'dnsbl' && state !== 'skipped');
  const listings = readListings(checks);
  const examined = new Set(checks.flatMap((check) => check.examined));
  const checkedAt = checks.length === 0 ? null : isoTime(Math.max(...checks.map((check) => check.checkedAt)));
  const present = (source: string | null, addresses: string[]): BlocklistState => {
    const listed = listings.filter(({ address }) => addresses.includes(address));
    const isWhole = addresses.length > 0 && addresses.every((address) => examined.has(address));
    const state = listed.length > 0 ? 'listed' : isWhole ? 'not_listed' : 'not_checked';
    return { source, addresses, blocklists: { state, listed, checked_at: checkedAt } };
  };
  const sources = listUsedSources(config).map((name) => present(name, listAddresses(config, name)));
  const ofSources = new Set(sources.flatMap(({ addresses }) => addresses));
  const others = [...new Set([...examined, ...listings.map(({ address }) => address)])]
    .filter((address) => !ofSources.has(address))
    .toSorted();
  return others.length === 0 ? sources : [...sources, present(null, others)];
}

function listAddresses({ sources }: Config, name: string): string[] {
  const settings = sources[name];
  if (settings === undefined || settings.relay !== '') return [];
  return [settings.source_v4, settings.source_v6].filter((address) => address !== '');
}

/** Reads the entries on blocklists, each an address and a zone, from what all machines found. */
function readListings(checks: readonly LastCheck[]): Listing[] {
  const found = new Map<string, Listing>();
  for (const { findings } of checks) {
    for (const { code, subjects } of findings) {
      if (code !== 'address_listed') continue;
      for (const subject of subjects) {
        const [address = '', zone = ''] = subject.split(' ');
        found.set(subject, { address, zone });
      }
    }
  }
  return [...found.values()];
}
