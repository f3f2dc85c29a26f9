import {
  canonicalName,
  canonicalOfRead,
  isWithinCanonical,
  nameFromBytes,
  nameLabels,
  type RecordTypeName,
} from '../../protocol/dns/index.ts';
import type { Exchanged } from './exchange.ts';
import { readAnswer } from './read-answer.ts';

export interface Zone {
  name: string;
  servers: { host: string; address?: string; isPrivate: boolean; isUnknown: boolean }[];
}

export interface ZoneFinderOptions {
  resolve(name: string, type: RecordTypeName): Promise<Exchanged>;
  ask(address: string, name: string, type: RecordTypeName): Promise<Exchanged>;
  mayReach(address: string): boolean;
}

/** Two are customary and thirteen possible; more than four would answer no differently. */
const SERVERS_MAX = 4;
const CLIMBS_MAX = 8;

/** Finds the zone that a name is in, and its name servers. Each zone is looked for once. */
export function createZoneFinder(options: ZoneFinderOptions): (name: string) => Promise<Zone | undefined> {
  const known = new Map<string, Promise<Zone | undefined>>();
  return (name) => {
    const key = canonicalName(name);
    const before = known.get(key);
    if (before) return before;
    const found = findZone(options, key);
    known.set(key, found);
    return found;
  };
}

async function findZone(options: ZoneFinderOptions, name: string): Promise<Zone | undefined> {
  const apex = await apexOf(options, name);
  if (apex === undefined) return undefined;
  const zone = await serversOf(options, apex.zone);
  if (!apex.isBroken) return zone;
  // The resolver could not go further down: the parent's servers say to whom they delegated.
  return (zone && (await delegationFrom(options, zone, name))) ?? zone;
}

/** RFC 2308 §3: who denies a record names the zone in the SOA record beside the denial. */
async function apexOf(
  { resolve }: ZoneFinderOptions,
  name: string,
): Promise<{ zone: string; isBroken: boolean } | undefined> {
  const labels = nameLabels(name);
  let isBroken = false;
  for (let cut = 0; cut < Math.min(labels.length, CLIMBS_MAX); cut++) {
    const at = nameFromBytes(labels.slice(cut));
    const said = await resolve(at, 'SOA');
    if (said.kind === 'failed') {
      if (said.reason === 'stopped') return undefined;
      isBroken = true;
      continue;
    }
    const answer = readAnswer(said.message, at, 'SOA');
    if (answer.kind === 'failed') isBroken = true;
    else if (answer.kind === 'found' && answer.aliases.length === 0) return { zone: at, isBroken };
    else if (answer.aliases.length === 0) {
      const soa = said.message.authorities.find(({ data }) => data.type === 'SOA');
      const zone = canonicalOfRead(soa?.name ?? '.');
      if (zone !== '.' && isWithinCanonical(canonicalName(at), zone)) return { zone, isBroken };
    }
  }
  return undefined;
}

async function serversOf(options: ZoneFinderOptions, zone: string): Promise<Zone> {
  const said = await options.resolve(zone, 'NS');
  const answer = said.kind === 'answered' ? readAnswer(said.message, zone, 'NS') : said;
  const hosts = answer.kind === 'found' ? answer.records.slice(0, SERVERS_MAX) : [];
  return { name: zone, servers: await Promise.all(hosts.map((host) => located(options, host, []))) };
}

async function delegationFrom(options: ZoneFinderOptions, parent: Zone, name: string): Promise<Zone | undefined> {
  for (const { address } of parent.servers) {
    if (address === undefined) continue;
    const said = await options.ask(address, name, 'NS');
    if (said.kind === 'failed') continue;
    const { authorities, answers, additionals } = said.message;
    const cuts = [...authorities, ...answers].flatMap(({ name: owner, data }) => {
      const zone = canonicalOfRead(owner);
      const isCut = zone !== parent.name && isWithinCanonical(name, zone) && isWithinCanonical(zone, parent.name);
      return data.type === 'NS' && isCut ? [{ zone, host: canonicalOfRead(data.target) }] : [];
    });
    const [first] = cuts;
    if (!first) continue;
    const glue = additionals.flatMap(({ name: host, data }) =>
      data.type === 'A' ? [{ host: canonicalOfRead(host), address: data.address }] : [],
    );
    const hosts = [...new Set(cuts.filter(({ zone }) => zone === first.zone).map(({ host }) => host))];
    return {
      name: first.zone,
      servers: await Promise.all(hosts.slice(0, SERVERS_MAX).map((host) => located(options, host, glue))),
    };
  }
  return undefined;
}

async function located(
  { resolve, mayReach }: ZoneFinderOptions,
  host: string,
  glue: readonly { host: string; address: string }[],
): Promise<Zone['servers'][number]> {
  const addresses = glue.filter((one) => one.host === host).map(({ address }) => address);
  let isUnsaid = false;
  for (const type of ['A', 'AAAA'] as const) {
    if (addresses.length > 0) break;
    const said = await resolve(host, type);
    if (said.kind === 'failed') isUnsaid = true;
    const answer = said.kind === 'answered' ? readAnswer(said.message, host, type) : said;
    if (answer.kind === 'found') addresses.push(...answer.records);
  }
  const address = addresses.find(mayReach);
  const isUnknown = isUnsaid && addresses.length === 0;
  return { host, ...(address === undefined ? {} : { address }), isPrivate: addresses.length > 0, isUnknown };
}
