import { getServers } from 'node:dns';
import {
  canonicalName,
  isWithin,
  RCODES,
  canonicalOfRead,
  isWithinCanonical,
  nameFromBytes,
  nameLabels,
  type RecordTypeName,
} from '../../protocol/dns/index.ts';
import type { Answer, ServerObservation, ZoneObservation } from '../../protocol/dns-diagnosis/index.ts';
import { createAddressGuard, type AddressGuard } from '../network/index.ts';
import { exchange, readAnswer, readServer, type Exchanged, type NameServer, type ReadBudget } from './exchange.ts';
import { pauseFor } from '../clock.ts';
import { createSemaphore, type Semaphore } from '../limits/index.ts';

interface Zone {
  name: string;
  servers: { host: string; address?: string; isPrivate: boolean; isUnknown: boolean }[];
}

interface ZoneFinderOptions {
  resolve(name: string, type: RecordTypeName): Promise<Exchanged>;
  ask(address: string, name: string, type: RecordTypeName): Promise<Exchanged>;
  mayReach(address: string): boolean;
}

/** Two are customary and thirteen possible; querying more than four would not change the result. */
const SERVERS_MAX = 4;
const CLIMBS_MAX = 8;
const BEHIND_MS = 300;

/** Finds the zone of a name and its name servers. Each zone is looked up once. */
function createZoneFinder(options: ZoneFinderOptions): (name: string) => Promise<Zone | undefined> {
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
  const apex = await findApex(options, name);
  if (apex === undefined) return undefined;
  const zone = await findServers(options, apex.zone);
  if (!apex.isBroken) return zone;
  // The resolver could not go further down: ask the parent's servers for the delegation.
  return (zone && (await delegationFrom(options, zone, name))) ?? zone;
}

type Apex = { zone: string } | 'elsewhere' | 'broken' | 'stopped';

/**
 * Asks at the name and all its parents at once: for a zone whose servers are silent our resolver hangs, but it still
 * answers for the zone above.
 */
async function findApex(
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

/** RFC 2308 §3: a negative answer names the zone in its SOA record. */
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

/** A zone counts as broken if there is no answer for this long after the zone above has answered. */
function tooLateFor(above: readonly Promise<Apex>[]): Promise<Apex> {
  return new Promise((resolve) => {
    for (const answer of above) {
      void answer.then(async (apex) => {
        if (typeof apex !== 'object') return;
        await pauseFor(BEHIND_MS);
        resolve('broken');
      });
    }
  });
}

async function findServers(options: ZoneFinderOptions, zone: string): Promise<Zone> {
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

export interface InspectorOptions {
  /** The configured resolver's servers, 'ip' or 'ip:port'; empty for the system's. */
  servers: readonly string[];
  /** 53, except in tests: DNS cannot specify another port. */
  authorityPort: number;
  /** Private CIDR ranges in which a zone's name servers may be contacted nevertheless. */
  allowPrivate: readonly string[];
  /** Per attempt over UDP: an answer that takes longer is unlikely to come. */
  timeoutMs?: number;
  tries?: number;
}

/**
 * Makes the queries for one check of one domain, and caches their answers. Every query ends when the signal aborts,
 * which must happen at some time.
 */
export interface Inspection {
  /** Asks the configured resolver now. */
  resolve(name: string, type: RecordTypeName): Promise<Answer>;
  /** Asks each of the zone's name servers; undefined if no server knows the zone. */
  observe(name: string, type: RecordTypeName): Promise<ZoneObservation | undefined>;
  /** Asks the zone's servers for another name in it or, if none of them answers, the configured resolver. */
  ask(zone: ZoneObservation, name: string, type: RecordTypeName): Promise<Answer>;
}

export interface Inspector {
  inspect(signal: AbortSignal): Inspection;
  close(): void;
}

/** Queries of one inspection: some ten records of at most four servers, and further queries about each. */
const QUESTIONS_MAX = 250;
/** Total size that one inspection reads: the answer to every query over UDP, and some large answers over TCP. */
const BYTES_MAX = 512 * 1024;
/** Limit for all inspections together, so that checks of broken domains do not use up all sockets. */
const AT_A_TIME = 64;

export function createInspector(options: InspectorOptions): Inspector {
  const live = new Set<AbortController>();
  let isClosed = false;
  const gate = createSemaphore(AT_A_TIME);
  const yieldBetween = createYieldBetween();
  const mayReach = createAddressGuard([...options.allowPrivate]);
  return {
    inspect(signal) {
      const stop = new AbortController();
      live.add(stop);
      const end = (): void => {
        live.delete(stop);
        stop.abort();
      };
      if (signal.aborted || isClosed) end();
      else signal.addEventListener('abort', end, { once: true });
      return createInspection({ ...options, gate, yieldBetween, mayReach }, stop.signal);
    },
    close() {
      isClosed = true;
      for (const stop of live) stop.abort();
      live.clear();
    },
  };
}

type Limited = InspectorOptions & {
  gate: Semaphore;
  yieldBetween: ReadBudget['yieldBetween'];
  mayReach: AddressGuard;
};

const STOPPED: Exchanged = { kind: 'failed', reason: 'stopped' };

function createInspection(options: Limited, signal: AbortSignal): Inspection {
  const { timeoutMs = 700, tries = 2, authorityPort, gate, yieldBetween, mayReach } = options;
  const resolvers = (options.servers.length > 0 ? options.servers : getServers()).map(readServer);
  const known = new Map<string, Promise<Exchanged>>();
  let asked = 0;
  let bytesLeft = BYTES_MAX;
  const budget: ReadBudget = { allows: (bytes) => (bytesLeft -= bytes) >= 0, yieldBetween };

  const ask = (
    server: NameServer,
    name: string,
    type: RecordTypeName,
    recursionDesired: boolean,
  ): Promise<Exchanged> => {
    const key = `${server.address} ${server.port} ${recursionDesired} ${type} ${canonicalName(name)}`;
    const before = known.get(key);
    if (before) return before;
    if (signal.aborted || asked++ >= QUESTIONS_MAX || bytesLeft < 0) return Promise.resolve(STOPPED);
    const limits = { timeoutMs, tries, signal, budget };
    const answer = gate
      .run(() => exchange(server, { name, type, recursionDesired }, limits), { signal })
      .catch((error: unknown) => {
        if (signal.aborted) return STOPPED;
        throw error;
      });
    known.set(key, answer);
    return answer;
  };

  const resolveMessage = async (name: string, type: RecordTypeName): Promise<Exchanged> => {
    let last: Exchanged = STOPPED;
    for (const server of resolvers) {
      last = await ask(server, name, type, true);
      if (last.kind === 'answered' || signal.aborted) return last;
    }
    return last;
  };
  const resolve = async (name: string, type: RecordTypeName): Promise<Answer> =>
    answerIn(await resolveMessage(name, type), name, type);
  const finder = createZoneFinder({
    resolve: resolveMessage,
    ask: (address, name, type) => ask({ address, port: authorityPort }, name, type, false),
    mayReach,
  });

  const observeServer = async (
    server: Zone['servers'][number],
    name: string,
    type: RecordTypeName,
  ): Promise<ServerObservation | undefined> => {
    // Nothing is known about a name server whose address was not found in time.
    if (server.isUnknown) return undefined;
    if (server.address === undefined) return { host: server.host, state: server.isPrivate ? 'private' : 'nameless' };
    const said = await ask({ address: server.address, port: authorityPort }, name, type, false);
    // A name server that did not get enough time to answer is not silent.
    if (said.kind === 'failed' && said.reason === 'stopped') return undefined;
    if (said.kind === 'failed') return { host: server.host, state: said.reason === 'malformed' ? 'garbled' : 'silent' };
    if (said.message.rcode === RCODES.SERVFAIL) return { host: server.host, state: 'failing' };
    const answer = readAnswer(said.message, name, type);
    // RFC 1034 §4.2.1: a server that holds the zone answers authoritatively; a refusal, a referral or a cached answer
    // means that it does not.
    if (answer.kind === 'failed' || !said.message.authoritative) return { host: server.host, state: 'lame' };
    return { host: server.host, state: 'answers', answer };
  };
  const observeZone = async (zone: Zone, name: string, type: RecordTypeName): Promise<ZoneObservation> => ({
    name: zone.name,
    servers: (await Promise.all(zone.servers.map((server) => observeServer(server, name, type)))).filter(
      (server) => server !== undefined,
    ),
  });

  return {
    resolve: (name, type) => guarded(() => resolve(name, type)),
    async observe(name, type) {
      const zone = await finder(name);
      return zone && observeZone(zone, name, type);
    },
    ask: ({ name: zoneName, servers }, name, type) =>
      guarded(async () => {
        const zone = isWithin(name, zoneName) ? await finder(zoneName) : undefined;
        for (const { host, state } of servers) {
          const server = state === 'answers' ? zone?.servers.find((candidate) => candidate.host === host) : undefined;
          const seen = server && (await observeServer(server, name, type));
          if (seen?.answer) return seen.answer;
        }
        return resolve(name, type);
      }),
  };
}

/** A name that no message can hold, such as one with a label of 64 bytes, does not exist. */
async function guarded(ask: () => Promise<Answer>): Promise<Answer> {
  try {
    return await ask();
  } catch {
    return { kind: 'none', why: 'nxdomain', aliases: [] };
  }
}

const answerIn = (said: Exchanged, name: string, type: string): Answer =>
  said.kind === 'failed' ? said : readAnswer(said.message, name, type);

/** Returns a function that resolves its calls one after the other, each in its own turn of the event loop. */
export function createYieldBetween(): () => Promise<void> {
  let last: Promise<void> = Promise.resolve();
  return () => (last = last.then(() => new Promise((resolve) => setImmediate(resolve))));
}
