import { readFileSync } from 'node:fs';
import path from 'node:path';
import {
  isForBroadcastsOnly,
  readMember,
  type Config,
  type PoolSettings,
  type SourceSettings,
} from '../../platform/config/index.ts';
import type { PooledJob, Proxy, Source } from '../deliver/index.ts';
import { readRelay } from '../deliver/index.ts';
import type { Weighted } from './weighted-turns.ts';

/** A source with its share of the mail of a pool. */
export interface Member extends Weighted {
  source: Source;
}

export interface EgressPool {
  name: string;
  members: readonly Member[];
}

type EgressConfig = Pick<Config, 'pools' | 'sources' | 'relays'>;

/** Describes the pools that the settings contain, and returns a function that finds the pool of a job. */
export function readPools(
  config: EgressConfig,
  { dataDir, isIpv6Ready }: { dataDir: string; isIpv6Ready: (sourceV6: string) => boolean },
): { pools: readonly EgressPool[]; findPool: (job: PooledJob) => EgressPool | undefined } {
  const sources = new Map<string, Source>();
  const findSource = (name: string): Source => {
    const known = sources.get(name);
    if (known) return known;
    const settings = config.sources[name];
    if (!settings) throw new Error(`the settings have no source ${name}`);
    const made = readSource(name, settings, { config, dataDir, isIpv6Ready });
    sources.set(name, made);
    return made;
  };
  const inUse = Object.entries(config.pools).filter(([, { sources: members }]) => members.length > 0);
  const pools = new Map(
    inUse.map(([name, settings]) => {
      const members = settings.sources.flatMap((text) => {
        const member = readMember(text);
        return member ? [{ ...member, source: findSource(member.name) }] : [];
      });
      return [name, { name, members }];
    }),
  );
  const byCondition = inUse.filter(([, settings]) => !isForBroadcastsOnly(settings));
  const bySpecificity = byCondition.toSorted(([, a], [, b]) => computeSpecificity(b) - computeSpecificity(a));
  return {
    pools: [...pools.values()],
    findPool(job) {
      // A pool that the settings no longer offer is as if none was chosen.
      const chosen = inUse.find(([name, { broadcasts }]) => broadcasts && name === job.pool);
      if (chosen) return pools.get(chosen[0]);
      const found = bySpecificity.find(([, settings]) => takesJob(settings, job));
      return found && pools.get(found[0]);
    },
  };
}

/** Reports whether the pool that mail leaves by depends on the sending domain. */
export const hasDomainPools = ({ pools }: Pick<Config, 'pools'>): boolean =>
  Object.values(pools).some(({ domains, sources }) => domains.length > 0 && sources.length > 0);

/** Reports whether all mail of a region leaves by pools, so that the addresses of the region are not used. */
export const isRegionCoveredByPools = ({ pools }: Pick<Config, 'pools'>, region: string): boolean =>
  (['transactional', 'marketing'] as const).every((stream) =>
    Object.values(pools).some(
      (pool) =>
        pool.sources.length > 0 &&
        !isForBroadcastsOnly(pool) &&
        pool.domains.length === 0 &&
        (pool.regions.length === 0 || pool.regions.includes(region)) &&
        (pool.streams.length === 0 || pool.streams.includes(stream)),
    ),
  );

const computeSpecificity = ({ regions, domains, streams }: PoolSettings): number =>
  (domains.length > 0 ? 4 : 0) + (regions.length > 0 ? 2 : 0) + (streams.length === 1 ? 1 : 0);

function takesJob({ regions, domains, streams }: PoolSettings, job: PooledJob): boolean {
  const stream = job.isMarketing === true ? 'marketing' : 'transactional';
  const sender = job.senderDomain?.toLowerCase();
  return (
    (regions.length === 0 || regions.includes(job.region)) &&
    (streams.length === 0 || streams.includes(stream)) &&
    (domains.length === 0 || domains.some((domain) => domain.toLowerCase() === sender))
  );
}

function readSource(
  name: string,
  settings: SourceSettings,
  {
    config,
    dataDir,
    isIpv6Ready,
  }: { config: EgressConfig; dataDir: string; isIpv6Ready: (sourceV6: string) => boolean },
): Source {
  const { source_v4: v4, source_v6: v6, helo_name: heloName, relay: relayName, address_family: family } = settings;
  const relay = config.relays[relayName];
  return {
    name,
    heloName: heloName === '' ? undefined : heloName,
    address: v4 + v6 === '' ? undefined : { ...(v4 === '' ? {} : { v4 }), ...(v6 === '' ? {} : { v6 }) },
    prefers() {
      if (family !== 'auto') return family === 'ipv6' ? 'v6' : 'v4';
      return v4 === '' || isIpv6Ready(v6) ? 'v6' : 'v4';
    },
    proxy: readProxy(name, settings, dataDir),
    relay: relay && readRelay(relayName, relay, dataDir),
  };
}

function readProxy(name: string, settings: SourceSettings, dataDir: string): Proxy | undefined {
  const { socks5, socks5_user: user, socks5_password: password, socks5_password_file: file } = settings;
  const at = socks5.lastIndexOf(':');
  if (at < 0) return undefined;
  const host = socks5.slice(0, at).replace(/^\[|\]$/g, '');
  return {
    host,
    port: Number(socks5.slice(at + 1)),
    ...(user === ''
      ? {}
      : { readLogin: () => ({ user, password: file === '' ? password : readPassword(name, file, dataDir) }) }),
  };
}

/** Reads the first line of a file. */
function readPassword(name: string, file: string, dataDir: string): string {
  let line: string | undefined;
  try {
    [line = ''] = readFileSync(path.resolve(dataDir, file), 'utf8').split(/\r?\n/, 1);
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException;
    throw new Error(`the socks5_password_file of the source ${name} could not be read: ${code}`, { cause: error });
  }
  const bytes = Buffer.byteLength(line);
  if (bytes === 0 || bytes > 255)
    throw new Error(`the socks5_password_file of the source ${name} must begin with a line of 1 to 255 bytes`);
  return line;
}
