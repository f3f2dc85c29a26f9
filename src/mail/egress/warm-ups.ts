import { isoTime, repeat } from '../../platform/clock.ts';
import type { Config } from '../../platform/config/index.ts';
import type { Executor } from '../../platform/db/index.ts';
import type { Store } from '../../platform/store.ts';
import type { ReceiverPlace, Source } from '../deliver/index.ts';
import { sumSourceDay } from '../reputation/index.ts';
import { beginDay, computeAllowance, newDay, toDay, toHour, type Allowance, type Schedule } from './schedule.ts';
import {
  listWarmUpDays,
  listWarmUps,
  lockWarmUpDay,
  returnReserved,
  updateWarmUpDay,
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
    const isPaused = warmUps.get(source)?.state === 'paused';
    const { allowance, block } = await db.txUnsynced(async (tx) => {
      const now = clock.now();
      const before = await lockWarmUpDay(tx, { source, provider, fresh: newDay(now) });
      const begun = before.day < toDay(now) ? await beginToday(tx, before) : before;
      // Messages that were reserved in an earlier hour of the day and not sent can be sent now.
      const old = blocks.get(key);
      const unused =
        old !== undefined && Math.floor(old.hour / 24) === begun.day && Number.isFinite(old.left) ? old.left : 0;
      const today = { ...begun, used: Math.max(0, begun.used - unused) };
      const allowance = computeAllowance(schedule, today, { now, ...mail });
      const hour = toHour(now);
      const isUnlimited = allowance.kind === 'unlimited';
      const count = isUnlimited ? 0 : Math.min(allowance.free, BLOCK_MAX, Math.ceil(allowance.hourly / BLOCKS_AN_HOUR));
      const hourUsed = today.hour === hour ? today.hour_used : 0;
      await updateWarmUpDay(tx, { ...today, used: today.used + count, hour, hour_used: hourUsed + count });
      return { allowance, block: { source, provider, hour, left: isUnlimited ? Infinity : count } };
    });
    // A block whose reservation was not committed does not exist.
    blocks.set(key, block);
    return allowance;

    /** Judges the last day on which the source was used. */
    async function beginToday(tx: Executor, before: WarmUpDayRow): Promise<WarmUpDayRow> {
      const results = await sumSourceDay(tx, { source, provider, day: before.day });
      return { ...before, ...beginDay(before, { now: clock.now(), results, schedule, isPaused }) };
    }
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
        const wait = waits.get(key);
        if (wait !== undefined && wait.until > clock.now()) return { kind: 'later', ...wait };
        const block = blocks.get(key);
        if (block !== undefined && block.hour === toHour(clock.now()) && block.left > 0) {
          block.left -= 1;
          return { kind: 'taken', undo: () => void (block.left += 1) };
        }
        const allowance = await reserveOnce(key, source, provider, mail);
        if (allowance.kind === 'unlimited' || allowance.free > 0) continue;
        waits.set(key, { until: allowance.until, detail: describeLimit(config, { source, provider, ...allowance }) });
      }
    },
    findWait({ name: source }, { provider = '' }, mail) {
      const wait = warmUps.has(source) ? waits.get(toKey(source, provider, mail)) : undefined;
      return wait !== undefined && wait.until > clock.now() ? wait.until : undefined;
    },
    reload,
    async start() {
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

const toKey = (source: string, provider: string, { isMarketing }: Mail): string =>
  [source, provider, isMarketing ? 'marketing' : 'transactional'].join('\n');
