import { getServers } from 'node:dns';
import { canonicalName, isWithin, RCODES, type RecordTypeName } from '../../protocol/dns/index.ts';
import type { Answer, ServerObservation, ZoneObservation } from '../../protocol/dns-diagnosis/index.ts';
import { createAddressGuard, type AddressGuard } from '../network/index.ts';
import { exchange, type Exchanged, type NameServer, type ReadBudget } from './exchange.ts';
import { createGate, createYieldBetween } from './gate.ts';
import { readAnswer } from './read-answer.ts';
import { createZoneFinder, type Zone } from './zone-finder.ts';

export interface InspectorOptions {
  /** The configured resolver's; 'ip' or 'ip:port', none means the system's. */
  servers: readonly string[];
  /** 53, except in tests: DNS has no way to name another port. */
  authorityPort: number;
  /** CIDR ranges in which a zone's name servers may be asked although private. */
  allowPrivate: readonly string[];
  /** Of each try over UDP: an answer that is not there by then is hardly on its way. */
  timeoutMs?: number;
  tries?: number;
}

/** Asks, for one check of one domain, and remembers what was answered meanwhile. Every question ends with the signal, which must end. */
export interface Inspection {
  /** What the configured resolver answers now. */
  resolve(name: string, type: RecordTypeName): Promise<Answer>;
  /** What each of the zone's name servers says; undefined if no server knows the zone. */
  observe(name: string, type: RecordTypeName): Promise<ZoneObservation | undefined>;
  /** What the zone says of another name in it; where none of its servers answers, the configured resolver. */
  ask(zone: ZoneObservation, name: string, type: RecordTypeName): Promise<Answer>;
}

export interface Inspector {
  inspect(signal: AbortSignal): Inspection;
  close(): void;
}

/** Questions of one inspection: some ten records of at most four servers, and what is asked further about each. */
const QUESTIONS_MAX = 250;
/** All that one inspection reads: every question answered over UDP, and some large answers over TCP. */
const BYTES_MAX = 512 * 1024;
/** Of all inspections together, so that readers of broken domains do not tie up all sockets. */
const AT_A_TIME = 64;

export function createInspector(options: InspectorOptions): Inspector {
  const live = new Set<AbortController>();
  let isClosed = false;
  const gate = createGate(AT_A_TIME);
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
  gate: ReturnType<typeof createGate>;
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
    const answer = gate(signal, () => exchange(server, { name, type, recursionDesired }, limits));
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
    // Of a name server whose address was not found in time, nothing is known.
    if (server.isUnknown) return undefined;
    if (server.address === undefined) return { host: server.host, state: server.isPrivate ? 'private' : 'nameless' };
    const said = await ask({ address: server.address, port: authorityPort }, name, type, false);
    // A name server that was not given the time to answer is not silent.
    if (said.kind === 'failed' && said.reason === 'stopped') return undefined;
    if (said.kind === 'failed') return { host: server.host, state: said.reason === 'malformed' ? 'garbled' : 'silent' };
    if (said.message.rcode === RCODES.SERVFAIL) return { host: server.host, state: 'failing' };
    const answer = readAnswer(said.message, name, type);
    // RFC 1034 §4.2.1: a server that holds the zone says so; a refusal, a referral or a cached answer means that it does not.
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

/** `192.0.2.1`, `192.0.2.1:53`, `2001:db8::1` or `[2001:db8::1]:53`. */
function readServer(text: string): NameServer {
  const [, bracketed, v4, port] = /^(?:\[([^\]]+)\]|([^:]+))(?::(\d+))?$/.exec(text) ?? [];
  return { address: bracketed ?? v4 ?? text, port: port === undefined ? 53 : Number(port) };
}
