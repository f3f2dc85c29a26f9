import { isoTime, repeat } from '../../platform/clock.ts';
import { usedSources, type Config } from '../../platform/config/index.ts';
import type { Executor } from '../../platform/db/index.ts';
import { readCustomerTexts } from '../../platform/providers/index.ts';
import type { Store } from '../../platform/store.ts';
import { estimateOrganizationalDomain } from '../../protocol/organizational-domain.ts';
import type { ReceiverPlace, Source } from '../deliver/index.ts';
import { sumSourceDay } from '../reputation/index.ts';
import {
  beginDay,
  computeAllowance,
  isFutureDay,
  newDay,
  sumIndependent,
  toDay,
  toHour,
  type Allowance,
  type DayResults,
  type Schedule,
} from './schedule.ts';
import {
  addRefusals,
  listRefusals,
  listWarmUpDays,
  listWarmUps,
  lockWarmUpDay,
  removeOtherRefusals,
  returnReserved,
  startFirstWarmUp,
  updateWarmUpDay,
  type DayKey,
  type Refusals,
  type WarmUpDayRow,
  type WarmUpRow,
} from './warm-ups.store.ts';

/** Tells other processes that a warm-up began, ended or was paused. */
export const WARM_UPS_CHANGED = 'warm-ups changed';
/** Changes of other processes are read this often, in case a notice was lost. */
const RELOAD_MS = 10_000;
/** An hour is reserved in so many parts, so that a process that is killed loses little of it. */
const BLOCKS_AN_HOUR = 20;
const BLOCK_MAX = 50;
const WAIT_MS_MAX = 24 * 3_600_000;

export type Budget =
  | { kind: 'taken'; undo: () => void }
  /** More may be sent at `until`. */
  | { kind: 'later'; until: number; detail: string };

interface Mail {
  isMarketing: boolean;
}

/** The limits of sources that are being warmed up. */
export interface WarmUps {
  /** Takes one message off what a source may send to a receiver today. A source that is not being warmed up has no limit. */
  take(source: Source, place: ReceiverPlace, mail: Mail): Promise<Budget>;
  /** Returns the time until which a source may send nothing, as far as that is known. */
  findWait(source: Source, place: ReceiverPlace, mail: Mail): number | undefined;
  /** Records that a receiver refused or deferred recipients. It never fails. */
  noteRefusals(source: Source, place: ReceiverPlace, refusals: Refusals): Promise<void>;
  /** Starts the warm-ups that the settings ask for, of sources that never had one, and reads which are under way. */
  start(): Promise<void>;
  /** Reads which sources are being warmed up. */
  reload(): Promise<void>;
  /** Gives back what was reserved and not used. */
  stop(): Promise<void>;
}

/** Messages of an hour that this process has reserved and not sent. */
interface Block {
  source: string;
  provider: string;
  /** The start of the warm-up that they belong to. */
  startedAt: number | undefined;
  hour: number;
  left: number;
}

const UNLIMITED: Budget = { kind: 'taken', undo: () => undefined };

/** Returns the schedule of a provider; empty: all receivers without one. */
export const findSchedule = ({ warm_up: settings, providers }: Config, provider: string): Schedule => ({
  daily: settings.daily,
  percent: providers[provider]?.warm_up_percent ?? 100,
  hours: settings.hours,
  idleDays: settings.idle_days,
});

/**
 * Keeps the limits of sources that are being warmed up. Processes reserve blocks of messages in the database, so that all
 * together never send more than a day and an hour allow; one that is killed loses at most a block for each source, provider
 * and stream, and what it had taken for messages that it has begun.
 */
export function createWarmUps({ db, clock, config, log }: Pick<Store, 'db' | 'clock' | 'config' | 'log'>): WarmUps {
  const blocks = new Map<string, Block>();
  const waits = new Map<string, { until: number; detail: string }>();
  const reserving = new Map<string, Promise<Allowance>>();
  /** The day that this process has begun last, for each source and provider. */
  const begunDays = new Map<string, number>();
  let warmUps: ReadonlyMap<string, WarmUpRow> = new Map();
  let stopHearing = (): void => {};
  let stopReloading = (): void => {};

  async function reload(): Promise<void> {
    const before = warmUps;
    warmUps = new Map((await listWarmUps(db)).map((row) => [row.source, row]));
    waits.clear();
    // A warm-up that has ended or begun again has removed all reservations.
    for (const [key, { source }] of blocks)
      if (warmUps.get(source)?.started_at !== before.get(source)?.started_at) blocks.delete(key);
  }

  /** Reserves the next block, and begins a new day if there is one. */
  async function reserve(key: string, source: string, provider: string, mail: Mail): Promise<Allowance> {
    const schedule = findSchedule(config, provider);
    const warmUp = warmUps.get(source);
    // The old block is used up by this: what is given back to it from now on is given back to the database.
    const old = blocks.get(key);
    blocks.delete(key);
    try {
      const { allowance, block, begunDay } = await db.txUnsynced(async (tx) => {
        const now = clock.now();
        const before = await lockWarmUpDay(tx, { source, provider, fresh: newDay(now) });
        const fresh = await beginToday(tx, before, now);
        const begun = fresh ?? before;
        // Messages that were reserved in an earlier hour of the day and not sent can be sent now.
        const unused =
          old !== undefined && Math.floor(old.hour / 24) === begun.day && Number.isFinite(old.left) ? old.left : 0;
        const today = { ...begun, used: Math.max(0, begun.used - unused) };
        const allowance = computeAllowance(schedule, today, { now, ...mail });
        // An hour that another node has begun has begun for all, although the clock of this one may be behind.
        const hour = Math.max(today.hour, toHour(now));
        const isUnlimited = allowance.kind === 'unlimited';
        const count = isUnlimited
          ? 0
          : Math.min(allowance.free, BLOCK_MAX, Math.ceil(allowance.hourly / BLOCKS_AN_HOUR));
        const hourUsed = today.hour === hour ? today.hour_used : 0;
        await updateWarmUpDay(tx, { ...today, used: today.used + count, hour, hour_used: hourUsed + count });
        const left = isUnlimited ? Infinity : count;
        const block: Block = { source, provider, startedAt: warmUp?.started_at, hour, left };
        return { allowance, block, begunDay: fresh && toDay(now) };
      });
      if (begunDay !== undefined) begunDays.set(`${source}\n${provider}`, begunDay);
      // A block whose reservation was not committed does not exist.
      blocks.set(key, block);
      return allowance;
    } catch (error) {
      if (old !== undefined) blocks.set(key, old);
      throw error;
    }

    /**
     * Judges the last day on which the source was used; returns undefined if today has begun. A day is begun once: if a node whose
     * clock is behind has put it back, it goes on.
     */
    async function beginToday(tx: Executor, before: WarmUpDayRow, now: number): Promise<WarmUpDayRow | undefined> {
      const isNew = before.day < toDay(now) && begunDays.get(`${source}\n${provider}`) !== toDay(now);
      if (!isNew && !isFutureDay(before, now)) return undefined;
      const results = await loadDayResults(tx, { source, provider, day: before.day });
      await removeOtherRefusals(tx, { source, provider, day: toDay(now) });
      return { ...before, ...beginDay(before, { now, results, schedule, isPaused: warmUp?.state === 'paused' }) };
    }
  }

  /** Gives back one message that was not sent: to its block, to the one that replaced it in its hour, or to the database. */
  function giveBack(key: string, block: Block): void {
    const { source, provider, hour, startedAt } = block;
    // A warm-up that has begun again has removed all reservations.
    if (warmUps.get(source)?.started_at !== startedAt || !Number.isFinite(block.left)) return;
    waits.delete(key);
    const present = blocks.get(key);
    if (present?.hour === hour) {
      present.left += 1;
      return;
    }
    returnReserved(db, { source, provider, hour, count: 1 }).catch((err: unknown) =>
      log.warn({ err, source }, 'a message of a warm-up that was not sent could not be given back'),
    );
  }

  /** Returns the wait for the next hour or day; one that is longer than a day is of a clock that was ahead. */
  function findKnownWait(key: string): { until: number; detail: string } | undefined {
    const wait = waits.get(key);
    const waitMs = (wait?.until ?? 0) - clock.now();
    return waitMs > 0 && waitMs <= WAIT_MS_MAX ? wait : undefined;
  }

  /** Several messages that need a block wait for one reservation. */
  function reserveOnce(key: string, source: string, provider: string, mail: Mail): Promise<Allowance> {
    const underWay = reserving.get(key);
    if (underWay) return underWay;
    const work = reserve(key, source, provider, mail).finally(() => reserving.delete(key));
    reserving.set(key, work);
    return work;
  }

  return {
    async take({ name: source }, { provider = '' }, mail) {
      if (!warmUps.has(source)) return UNLIMITED;
      const key = toKey(source, provider, mail);
      for (;;) {
        const wait = findKnownWait(key);
        if (wait !== undefined) return { kind: 'later', ...wait };
        const block = blocks.get(key);
        if (block !== undefined && block.hour >= toHour(clock.now()) && block.left > 0) {
          block.left -= 1;
          return { kind: 'taken', undo: () => giveBack(key, block) };
        }
        const allowance = await reserveOnce(key, source, provider, mail);
        if (allowance.kind === 'unlimited' || allowance.free > 0) continue;
        waits.set(key, { until: allowance.until, detail: describeLimit(config, { source, provider, ...allowance }) });
      }
    },
    findWait({ name: source }, { provider = '' }, mail) {
      return warmUps.has(source) ? findKnownWait(toKey(source, provider, mail))?.until : undefined;
    },
    async noteRefusals({ name: source }, place, refusals) {
      const { provider = '', servers, domain } = place;
      if (!warmUps.has(source) || !isShared(provider)) return;
      // Any name below a registered domain costs nothing, so all of them are one receiver.
      const receiver = estimateOrganizationalDomain(provider === '' ? (servers.split(' ')[0] ?? '') : domain);
      await addRefusals(db, { source, provider, day: toDay(clock.now()), receiver, ...refusals }).catch(
        (err: unknown) => log.warn({ err, source }, 'refusals of a warm-up could not be stored'),
      );
    },
    reload,
    async start() {
      for (const name of usedSources(config))
        if (config.sources[name]?.warm_up === true) await startFirstWarmUp(db, name, clock.now());
      await reload();
      const safely = (): Promise<void> =>
        reload().catch((err: unknown) => log.warn({ err }, 'the warm-ups could not be read'));
      stopHearing = db.onAnnounced(WARM_UPS_CHANGED, () => void safely());
      stopReloading = repeat(clock, RELOAD_MS, safely);
    },
    async stop() {
      stopHearing();
      stopReloading();
      const unused = [...blocks.values()].filter(({ left }) => left > 0 && Number.isFinite(left));
      blocks.clear();
      for (const { source, provider, hour, left } of unused)
        await returnReserved(db, { source, provider, hour, count: left }).catch((err: unknown) =>
          log.warn({ err, source }, 'the unused part of a warm-up could not be given back'),
        );
    },
  };
}

/** Reports whether receivers that do not speak for each other share a position: all small ones, and the customers of some providers. */
const isShared = (provider: string): boolean => provider === '' || readCustomerTexts().has(provider);

/**
 * Loads what a day of a warm-up is judged by. Where receivers share a position, refusals count only as far as independent
 * receivers agree, and complaints do not count, because anybody can send a report.
 */
export async function loadDayResults(db: Executor, key: DayKey): Promise<DayResults> {
  const results = await sumSourceDay(db, key);
  if (!isShared(key.provider)) return results;
  const refusals = await listRefusals(db, key);
  return {
    accepted: results.accepted,
    bounced: sumIndependent(refusals.map(({ bounced }) => bounced)),
    mistrusted: sumIndependent(refusals.map(({ mistrusted }) => mistrusted)),
    complained: 0,
  };
}

function describeLimit(
  { providers }: Pick<Config, 'providers'>,
  { source, provider, daily, hourly }: { source: string; provider: string; daily: number; hourly: number },
): string {
  const title = providers[provider]?.title ?? 'receivers without a provider';
  return `${source} is being warmed up and may send ${daily} messages to ${title} today, ${hourly} of them an hour`;
}

/** Returns a function that explains why a source in its warm-up may send nothing more to a provider for now; null if it may. */
export async function explainWarmUps({
  db,
  config,
  clock,
}: Pick<Store, 'db' | 'config' | 'clock'>): Promise<
  (source: string, provider: string, isMarketing: boolean) => string | null
> {
  const now = clock.now();
  const warming = new Set((await listWarmUps(db)).map(({ source }) => source));
  const days = warming.size === 0 ? [] : await listWarmUpDays(db);
  return (source, provider, isMarketing) => {
    const day = days.find((row) => row.source === source && row.provider === provider);
    if (!day || !warming.has(source) || day.day < toDay(now)) return null;
    const allowance = computeAllowance(findSchedule(config, provider), day, { now, isMarketing });
    if (allowance.kind === 'unlimited' || allowance.free > 0) return null;
    const until = isoTime(allowance.until).slice(0, 16).replace('T', ' ');
    return `${describeLimit(config, { source, provider, ...allowance })}; more leave after ${until} UTC`;
  };
}

/** Replaces days that a clock that was ahead has begun by today, and hours by the present one; returns their number. */
export async function bringBackWarmUps({ db, config, clock }: Pick<Store, 'db' | 'config' | 'clock'>): Promise<number> {
  const now = clock.now();
  const isAhead = (day: WarmUpDayRow): boolean => isFutureDay(day, now) || day.hour > toHour(now) + 1;
  let count = 0;
  for (const { source, provider } of (await listWarmUpDays(db)).filter(isAhead))
    await db.tx(async (tx) => {
      const before = await lockWarmUpDay(tx, { source, provider, fresh: newDay(now) });
      if (!isAhead(before)) return;
      const results = await loadDayResults(tx, { source, provider, day: before.day });
      const schedule = findSchedule(config, provider);
      const day = isFutureDay(before, now)
        ? beginDay(before, { now, results, schedule, isPaused: false })
        : { ...before, hour: toHour(now) };
      await updateWarmUpDay(tx, { ...before, ...day });
      count += 1;
    });
  return count;
}

const toKey = (source: string, provider: string, { isMarketing }: Mail): string =>
  [source, provider, isMarketing ? 'marketing' : 'transactional'].join('\n');
