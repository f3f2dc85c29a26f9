import {
  canonicalName,
  canonicalOfRead,
  isWithinCanonical,
  nameFromBytes,
  nameLabels,
  type RecordTypeName,
} from '../../protocol/dns/index.ts';
import { rest } from '../clock/index.ts';
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
const BEHIND_MS = 300;

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

type Apex = { zone: string } | 'elsewhere' | 'broken' | 'stopped';

/**
 * Asks at every name upwards at once: at a zone whose servers are silent our resolver hangs, and it tells of the zone above
 * all the same.
 */
async function apexOf(
  { resolve }: ZoneFinderOptions,
  name: string,
): Promise<{ zone: string; isBroken: boolean } | undefined> {
  const labels = nameLabels(name);
  const names = labels.slice(0, CLIMBS_MAX).map((_, cut) => nameFromBytes(labels.slice(cut)));
  const answers = names.map(async (at) => apexIn(await resolve(at, 'SOA'), at));
  let isBroken = false;
  for (const [cut, answer] of answers.entries()) {
    const apex = await Promise.race([answer, tooLateFor(answers.slice(cut + 1))]);
    if (apex === 'stopped') return undefined;
    if (typeof apex === 'object') return { zone: apex.zone, isBroken };
    isBroken ||= apex === 'broken';
  }
  return undefined;
}

/** RFC 2308 §3: who denies a record names the zone in the SOA record beside the denial. */
function apexIn(said: Exchanged, at: string): Apex {
  if (said.kind === 'failed') return said.reason === 'stopped' ? 'stopped' : 'broken';
  const answer = readAnswer(said.message, at, 'SOA');
  if (answer.kind === 'failed') return 'broken';
  if (answer.aliases.length > 0) return 'elsewhere';
  if (answer.kind === 'found') return { zone: at };
  const soa = said.message.authorities.find(({ data }) => data.type === 'SOA');
  const zone = canonicalOfRead(soa?.name ?? '.');
  return zone !== '.' && isWithinCanonical(canonicalName(at), zone) ? { zone } : 'elsewhere';
}

/** Broken is what says nothing for so long although the zone above has been told of. */
function tooLateFor(above: readonly Promise<Apex>[]): Promise<Apex> {
  return new Promise((resolve) => {
    for (const answer of above) {
      void answer.then(async (apex) => {
        if (typeof apex !== 'object') return;
        await rest(BEHIND_MS);
        resolve('broken');
      });
    }
  });
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
