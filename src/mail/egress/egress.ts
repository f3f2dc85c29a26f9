import { networkInterfaces } from 'node:os';
import { repeat } from '../../platform/clock.ts';
import { buildFinding, type Finding } from '../../platform/finding.ts';
import { BoundedMap } from '../../platform/limits/index.ts';
import { readCustomerTexts } from '../../platform/providers/index.ts';
import type { Store } from '../../platform/store.ts';
import {
  describeThrottle,
  findMailStream,
  type PooledJob,
  type ReceiverPlace,
  type RecipientOutcome,
  type Source,
  type SourceChoice,
  type Sources,
  type Throttle,
  type Throttles,
} from '../deliver/index.ts';
import { CAUSES_AGAINST_SOURCE } from '../reputation/index.ts';
import { readPools, type EgressPool, type Member } from './read-pools.ts';
import type { WarmUps } from './warm-ups.ts';
import { listRests, putRest, REST_MS_MAX, type SourceRest } from './rests.store.ts';
import { WeightedTurns } from './weighted-turns.ts';

/** Addresses of this machine are listed this often. */
const LIST_MS = 5_000;
/** A source from which nothing could be sent is left out for this time. */
const UNAVAILABLE_MS = 60_000;
/**
 * A receiver that refuses a source gets nothing from it for this time, as long as there are others; twice as long if it refuses
 * again.
 */
const MISTRUSTED_MS = 60 * 60_000;
const MISTRUSTED_MS_MAX = REST_MS_MAX;
/** A refusal so long after the end of the last one is the first again. */
const FORGIVEN_MS = MISTRUSTED_MS_MAX;
/** The largest number of pools and receivers whose turns are counted. */
const TURNS_MAX = 10_000;

/** The sources of the settings, with their present state. */
export interface Egress extends Sources {
  pools: readonly EgressPool[];
  /** Returns the reason for which nothing can be sent from a source at present; undefined if something can. */
  findFault(source: Source): string | undefined;
  findings(): Finding[];
  start(): void;
  stop(): void;
}

/** Creates the choice of the source that each message leaves by, according to the pools of the settings. */
export function createEgress(
  store: Pick<Store, 'db' | 'config' | 'clock' | 'dataDir' | 'log'>,
  {
    throttles,
    warmUps,
    isIpv6Ready,
  }: { throttles: Throttles; warmUps: WarmUps; isIpv6Ready: (sourceV6: string) => boolean },
): Egress {
  const { db, config, clock, dataDir, log } = store;
  const { pools, findPool } = readPools(config, { dataDir, isIpv6Ready });
  const turns = new BoundedMap<string, WeightedTurns>(TURNS_MAX);
  const faults = new Map<string, { detail: string; until: number }>();
  const all = new Map(pools.flatMap(({ members }) => members).map(({ source }) => [source.name, source]));
  /** Times until which receivers get nothing from a source that they have refused. */
  const mistrusts = new BoundedMap<string, { until: number; lengthMs: number }>(TURNS_MAX);
  let local = listAddresses();
  let stopListing = (): void => {};
  let storing: Promise<unknown> = Promise.resolve();

  const findFault = (source: Source): string | undefined => readFault(source)?.detail;

  /** Returns the fault of a source and the time at which it is tried again; notes an address that is missing. */
  function readFault(source: Source): { detail: string; until: number } | undefined {
    const fault = faults.get(source.name);
    const now = clock.now();
    // A fault that lasts longer is one of a clock that was ahead.
    if (fault !== undefined && fault.until > now && fault.until <= now + UNAVAILABLE_MS) return fault;
    const missing = findMissing(source, local);
    if (missing === undefined) return undefined;
    const noted = { detail: `the address ${missing} does not exist on this machine`, until: now + UNAVAILABLE_MS };
    faults.set(source.name, noted);
    storeFault(source, noted);
    return noted;
  }

  /** Stores why a source is left out, for the processes that explain what mail waits for. It never fails. */
  async function storeRest(rest: SourceRest): Promise<void> {
    await putRest(db, rest, clock.now()).catch((err: unknown) =>
      log.warn({ err, source: rest.source }, 'the state of a source could not be stored'),
    );
  }

  function storeFault({ name }: Source, { detail, until }: { detail: string; until: number }): void {
    const reason = `nothing can be sent from ${name}, because ${detail}`;
    const stored = storeRest({ source: name, receiver: '', until_at: until, reason });
    storing = Promise.all([storing, stored]);
  }

  const listLimits = (source: Source, job: PooledJob, place: ReceiverPlace): readonly Throttle[] =>
    throttles.inForce({
      ...(source.relay
        ? { source: `relay ${source.relay.name}`, provider: undefined, servers: source.relay.name }
        : { source: source.name, ...place }),
      senderDomain: job.senderDomain,
      stream: findMailStream(job),
    });

  /** Reports whether a receiver takes less from a source for a while, because of what it thinks of it. */
  const isLimited = (source: Source, job: PooledJob, place: ReceiverPlace): boolean =>
    listLimits(source, job, place).some(({ kind, setBy }) => kind === 'rate' && setBy === 'reply');

  const toKey = (source: Source, place: ReceiverPlace): string => `${source.name}\n${toReceiver(place)}`;

  const describeMistrust = ({ name }: Source, place: ReceiverPlace): string =>
    `${isOfCustomer(place) ? place.domain : readTitle(place)} refuses mail from ${name}, and other sources take it for a while`;

  const readTitle = ({ provider, servers }: ReceiverPlace): string =>
    (provider === undefined ? undefined : config.providers[provider]?.title) ?? servers;

  /** Returns until when a receiver gets nothing from a source that it has refused; undefined if no other source is left. */
  function findMistrust(source: Source, { members }: EgressPool, place: ReceiverPlace): number | undefined {
    const now = clock.now();
    const findUntil = (one: Source): number => {
      const until = mistrusts.get(toKey(one, place))?.until ?? 0;
      return until > now + MISTRUSTED_MS_MAX ? 0 : until;
    };
    if (findUntil(source) <= now || members.every((one) => findUntil(one.source) > now)) return undefined;
    return findUntil(source);
  }

  /** Returns why a source of a pool cannot send to a receiver now, and until when; undefined if it can. */
  function findObstacle(
    source: Source,
    { job, place, pool }: { job: PooledJob; place: ReceiverPlace; pool: EgressPool },
  ): Obstacle | undefined {
    const fault = readFault(source);
    if (fault !== undefined) {
      const { detail, until } = fault;
      return {
        until,
        wait: { reason: 'source_unavailable', detail: `nothing can be sent from ${source.name}, because ${detail}` },
      };
    }
    const suspension = listLimits(source, job, place).find(({ kind }) => kind === 'suspend');
    if (suspension !== undefined) {
      const detail = describeThrottle(readTitle(place), suspension);
      return { until: clock.now() + throttles.remainingMs(suspension), wait: { reason: 'suspended', detail } };
    }
    const until = findMistrust(source, pool, place);
    if (until === undefined) return undefined;
    return { until, wait: { reason: 'suspended', detail: describeMistrust(source, place) } };
  }

  function findTurns(pool: EgressPool, { provider, servers }: ReceiverPlace): WeightedTurns {
    const key = `${pool.name}\n${provider ?? servers}`;
    const known = turns.get(key);
    if (known) return known;
    const made = new WeightedTurns();
    turns.set(key, made);
    return made;
  }

  /** Takes a turn of one of the members and a part of its warm-up; returns undefined if none may send now. */
  async function takeTurn(
    members: readonly Member[],
    { job, place, pool, waits }: { job: PooledJob; place: ReceiverPlace; pool: EgressPool; waits: Obstacle[] },
  ): Promise<SourceChoice | undefined> {
    const inTurns = findTurns(pool, place);
    let left = members;
    // The source that the message left by before comes first.
    const isFirst = ({ name }: Member): number => (name === job.source ? 0 : 1);
    for (const member of inTurns.order(members).toSorted((a, b) => isFirst(a) - isFirst(b))) {
      // The turn is taken before anything is waited for, so that two messages do not take the same one.
      const among = left;
      inTurns.take(member, among);
      const budget = await warmUps.take(member.source, place, { isMarketing: job.isMarketing === true });
      if (budget.kind === 'taken') {
        const undo = (): void => {
          budget.undo();
          inTurns.undo(member, among);
        };
        return { kind: 'source', source: member.source, undo };
      }
      inTurns.undo(member, among);
      waits.push({ until: budget.until, wait: { reason: 'throttled', detail: budget.detail } });
      left = left.filter((one) => one !== member);
    }
    return undefined;
  }

  return {
    pools,
    findFault,
    listFor: (job) => findPool(job)?.members.map(({ source }) => source),
    async choose(job, place, { tried, failing }): Promise<SourceChoice> {
      const pool = findPool(job);
      if (!pool) throw new Error('no pool takes the message');
      const waits: Obstacle[] = [];
      const free = pool.members.filter(({ name, source }) => {
        const obstacle = findObstacle(source, { job, place, pool });
        if (obstacle) waits.push(obstacle);
        return obstacle === undefined && !tried.has(name);
      });
      // Sources that a receiver does not trust now take turns of their own, only if there are no others: they would otherwise
      // have to catch up with all mail that left without them.
      const isAvoided = ({ name, source }: Member): boolean => failing.has(name) || isLimited(source, job, place);
      const asked = { job, place, pool, waits };
      await storing;
      const choice =
        (await takeTurn(
          free.filter((member) => !isAvoided(member)),
          asked,
        )) ?? (await takeTurn(free.filter(isAvoided), asked));
      if (choice) return choice;
      const [first] = waits.toSorted((a, b) => a.until - b.until);
      // Every source was tried, and nothing could be sent from any.
      if (!first) {
        const detail = `Nothing can be sent from any source of the pool ${pool.name}`;
        return { kind: 'exhausted', detail, retryAfterMs: UNAVAILABLE_MS };
      }
      const { reason, detail } = first.wait;
      const retryAfterMs = Math.max(1000, first.until - clock.now());
      return { kind: 'wait', reason, detail: `Mail by the pool ${pool.name} waits: ${detail}`, retryAfterMs };
    },
    findWait(job, place) {
      const pool = findPool(job);
      if (!pool) return undefined;
      const isMarketing = job.isMarketing === true;
      const untils = pool.members.map(
        ({ source }) =>
          findObstacle(source, { job, place, pool })?.until ?? warmUps.findWait(source, place, { isMarketing }),
      );
      const known = untils.filter((until) => until !== undefined);
      return known.length === untils.length ? Math.min(...known) : undefined;
    },
    async noteOutcomes(source, place, outcomes) {
      const refused = outcomes.filter(isRefusal);
      if (refused.length === 0) return;
      const ofSource = refused.filter(({ cause }) => cause !== undefined && CAUSES_AGAINST_SOURCE.includes(cause));
      const bounced = refused.filter((outcome) => outcome.kind === 'bounced' && !ofSource.includes(outcome));
      if (ofSource.length + bounced.length === 0) return;
      await warmUps.noteRefusals(source, place, { mistrusted: ofSource.length, bounced: bounced.length });
    },
    async noteMistrust(source, place) {
      const now = clock.now();
      const before = mistrusts.get(toKey(source, place));
      const isAgain = before !== undefined && now - before.until < FORGIVEN_MS;
      const lengthMs = isAgain ? Math.min(before.lengthMs * 2, MISTRUSTED_MS_MAX) : MISTRUSTED_MS;
      mistrusts.set(toKey(source, place), { until: now + lengthMs, lengthMs });
      log.warn({ source: source.name, provider: place.provider ?? place.servers }, 'a receiver refuses a source');
      await storeRest({
        source: source.name,
        receiver: toReceiver(place),
        until_at: now + lengthMs,
        reason: describeMistrust(source, place),
      });
    },
    noteUnavailable(source, detail) {
      const fault = { detail, until: clock.now() + UNAVAILABLE_MS };
      faults.set(source.name, fault);
      storeFault(source, fault);
      log.warn({ source: source.name, detail }, 'nothing can be sent from a source');
    },
    findings() {
      return [...all.values()].flatMap((source) => {
        const detail = findFault(source);
        if (detail === undefined) return [];
        const summary = `Nothing can be sent from the source ${source.name}: ${detail}.`;
        return [buildFinding('source_unavailable', { summary, subjects: [source.name] })];
      });
    },
    start() {
      stopListing = repeat(clock, LIST_MS, async () => void (local = listAddresses()));
    },
    stop: () => stopListing(),
  };
}

/** Reports whether a reply of this receiver may be the text of a customer of its provider, who speaks for one domain only. */
const isOfCustomer = ({ provider }: ReceiverPlace): boolean =>
  provider !== undefined && readCustomerTexts().has(provider);

/** Names whoever a refusal of a source concerns: a provider, the mail servers without one, or one domain of a provider with customers. */
const toReceiver = (place: ReceiverPlace): string =>
  [place.provider ?? place.servers, ...(isOfCustomer(place) ? [place.domain] : [])].join(' ');

/**
 * Returns a function that explains why sources are left out for a receiver: for each, a sentence, or null. Sources that the
 * receiver refuses are not left out if it refuses all of them.
 */
export async function explainRests({
  db,
  clock,
}: Pick<Store, 'db' | 'clock'>): Promise<(sources: readonly string[], place: ReceiverPlace) => (string | null)[]> {
  const rests = await listRests(db, clock.now());
  return (sources, place) => {
    const find = (name: string, receiver: string): string | null =>
      rests.find((rest) => rest.source === name && rest.receiver === receiver)?.reason ?? null;
    const refused = sources.map((name) => find(name, toReceiver(place)));
    const isRefusedByAll = refused.every((reason) => reason !== null);
    return sources.map((name, index) => find(name, '') ?? (isRefusedByAll ? null : (refused[index] ?? null)));
  };
}

/** The reason for which a source cannot send, and the time at which that ends. */
interface Obstacle {
  until: number;
  wait: Pick<Extract<SourceChoice, { kind: 'wait' }>, 'reason' | 'detail'>;
}

/** Reports whether a receiver refused or deferred a recipient by a reply, as it is counted for the reputation of the source. */
const isRefusal = (outcome: RecipientOutcome): outcome is Extract<RecipientOutcome, { kind: 'bounced' | 'deferred' }> =>
  (outcome.kind === 'bounced' && outcome.reason === 'refused') ||
  (outcome.kind === 'deferred' && outcome.reason === 'refused_for_now' && outcome.reply !== undefined);

const listAddresses = (): ReadonlySet<string> =>
  new Set(
    Object.values(networkInterfaces()).flatMap((addresses = []) => addresses.map(({ address }) => toPlain(address))),
  );

/** Returns an address of a source that this machine does not have; those of a proxy are not on this machine. */
function findMissing({ address, proxy }: Source, local: ReadonlySet<string>): string | undefined {
  if (proxy !== undefined) return undefined;
  return [address?.v4, address?.v6].find((one) => one !== undefined && !isLocal(one, local));
}

/** All addresses of 127.0.0.0/8 exist wherever 127.0.0.1 does. */
const isLocal = (address: string, local: ReadonlySet<string>): boolean =>
  address.startsWith('127.') ? local.has('127.0.0.1') : local.has(toPlain(address));

/** Writes an IPv6 address in its shortest form. */
const toPlain = (address: string): string =>
  address.includes(':') ? new URL(`http://[${address.replace(/%.*$/, '')}]`).hostname.slice(1, -1) : address;
