import { isoTime } from '../../platform/clock.ts';
import { usedSources, readMember, type Config } from '../../platform/config/index.ts';
import type { Page } from '../../platform/db/index.ts';
import type { Finding } from '../../platform/finding.ts';
import { invalidField, refuse } from '../../platform/refusal.ts';
import type { Store } from '../../platform/store.ts';
import {
  beginDay,
  dailyLimit,
  findSchedule,
  hourlyLimit,
  listWarmUpDays,
  listWarmUps,
  loadDayResults,
  toHour,
  type WarmUpDayRow,
  type WarmUpRow,
} from '../egress/index.ts';
import { sumBySource, sumOutcomes } from '../reputation/index.ts';

/** Reads the findings of all processes, which alone know why nothing can be sent from a source. */
export interface FaultReader {
  loadReport(): Promise<{ findings: readonly Finding[] }>;
}

/** Lists the sources that a pool contains, by name. */
export async function listSources(store: Store, node: FaultReader, { after, before, limit }: Page) {
  const names = listUsedSources(store.config);
  const present = await loadPresent(store, node);
  const candidates = names.filter(
    (name) => (after === undefined || name > after) && (before === undefined || name < before),
  );
  const shown = before === undefined ? candidates.slice(0, limit) : candidates.slice(-limit);
  return {
    object: 'list' as const,
    has_more: candidates.length > shown.length,
    data: shown.map(present),
  };
}

export async function getSource(store: Store, node: FaultReader, name: string) {
  const { db, clock, config } = store;
  checkSource(config, name);
  const present = await loadPresent(store, node);
  const outcomes = await sumOutcomes(db, { source: name, sinceHour: toHour(clock.now()) - 23 });
  return {
    ...present(name),
    warm_up: await getWarmUp(store, name),
    last_24_hours: outcomes.map(({ provider, outcome, cause, count }) => ({
      ...nameProvider(config, provider),
      outcome,
      cause: cause === '' ? null : cause,
      recipients: count,
    })),
  };
}

/** Returns the warm-up of a source as it is for the next message: a day that has begun since the last one is judged. */
export async function getWarmUp(store: Store, name: string) {
  const { db, config } = store;
  checkSource(config, name);
  const warmUp = (await listWarmUps(db)).find(({ source }) => source === name);
  const days = warmUp === undefined ? [] : await listWarmUpDays(db, name);
  return {
    object: 'warm_up' as const,
    id: name,
    state: warmUp?.state ?? ('none' as const),
    started_at: warmUp === undefined ? null : isoTime(warmUp.started_at),
    providers: await Promise.all(days.map((day) => presentDay(store, day, warmUp?.state === 'paused'))),
  };
}

async function presentDay({ db, clock, config }: Store, before: WarmUpDayRow, isPaused: boolean) {
  const now = clock.now();
  const schedule = findSchedule(config, before.provider);
  const results = await loadDayResults(db, before);
  const { level, used, hour, hour_used: hourUsed, judged } = beginDay(before, { now, results, schedule, isPaused });
  const daily = dailyLimit(schedule, level) ?? null;
  return {
    ...nameProvider(config, before.provider),
    day: level + 1,
    days: schedule.daily.length,
    daily_limit: daily,
    used_today: used,
    hourly_limit: daily === null ? null : hourlyLimit(schedule, daily),
    used_this_hour: hour === toHour(now) ? hourUsed : 0,
    last_day: judged,
  };
}

/** Refuses a name that the settings lack, or that no pool contains. */
export function checkSource(config: Config, name: string): void {
  const used = listUsedSources(config);
  if (used.includes(name)) return;
  const known =
    used.length === 0 ? 'No pool of the settings contains a source.' : `The sources are ${used.join(', ')}.`;
  if (!Object.hasOwn(config.sources, name))
    throw refuse('not_found', { say: `The settings have no source ${JSON.stringify(name)}. ${known}` });
  throw invalidField(
    'source',
    `No mail leaves by the source ${name}, because no pool contains it; add it to pools.NAME.sources. ${known}`,
  );
}

/** Lists the sources that a pool contains, by name. */
export const listUsedSources = (config: Config): string[] =>
  [...usedSources(config)].filter((name) => Object.hasOwn(config.sources, name)).toSorted((a, b) => (a < b ? -1 : 1));

function nameProvider({ providers }: Config, provider: string): { provider: string | null; title: string } {
  if (provider === '') return { provider: null, title: 'Receivers without a provider' };
  return { provider, title: providers[provider]?.title ?? provider };
}

/** Loads what all sources share, and returns a function that presents one. */
async function loadPresent({ db, clock, config }: Store, node: FaultReader) {
  const now = clock.now();
  const sums = await sumBySource(db, { todayHour: Math.floor(toHour(now) / 24) * 24, recentHour: toHour(now) - 1 });
  const warmUps = new Map((await listWarmUps(db)).map((row) => [row.source, row.state]));
  const faults = readFaults((await node.loadReport()).findings);
  return (name: string) => {
    const fault = faults.get(name) ?? null;
    const counts = sums.filter(({ source }) => source === name);
    const count = (period: 'today' | 'recent', outcome: string): number =>
      counts.find((one) => one.outcome === outcome)?.[period] ?? 0;
    const countAll = (period: 'today' | 'recent') => ({
      accepted: count(period, 'accepted'),
      deferred: count(period, 'deferred'),
      bounced: count(period, 'bounced'),
    });
    return {
      object: 'egress_source' as const,
      id: name,
      state: chooseState(fault, warmUps.get(name)),
      fault,
      ...describeSource(config, name),
      last_hour: countAll('recent'),
      today: countAll('today'),
    };
  };
}

/** Reads the faults of sources from the findings of all nodes. */
function readFaults(findings: readonly Finding[]): Map<string, string> {
  const faults = new Map<string, string>();
  for (const { code, subjects = [], summary, node } of findings) {
    if (code !== 'source_unavailable') continue;
    for (const name of subjects) {
      const said = node === undefined || node === null ? summary : `${node}: ${summary}`;
      const before = faults.get(name);
      faults.set(name, before === undefined ? said : `${before} ${said}`);
    }
  }
  return faults;
}

function chooseState(fault: string | null, state: WarmUpRow['state'] | undefined) {
  if (fault !== null) return 'unavailable' as const;
  return state ?? ('ready' as const);
}

function describeSource({ sources, relays, pools, instance }: Config, name: string) {
  const settings = sources[name];
  if (!settings) throw new Error(`the settings have no source ${name}`);
  const orNull = (text: string): string | null => (text === '' ? null : text);
  const helo = settings.relay === '' ? settings.helo_name : (relays[settings.relay]?.helo_name ?? '');
  return {
    ipv4: orNull(settings.source_v4),
    ipv6: orNull(settings.source_v6),
    proxy: orNull(settings.socks5),
    relay: orNull(settings.relay),
    ehlo_name: helo === '' ? instance.host : helo,
    pools: Object.entries(pools).flatMap(([pool, { sources: texts }]) => {
      const members = texts.flatMap((text) => readMember(text) ?? []);
      const total = members.reduce((sum, { weight }) => sum + weight, 0);
      return members
        .filter((member) => member.name === name)
        .map(({ weight }) => ({ name: pool, weight, share: Math.round((weight * 1000) / total) / 10 }));
    }),
  };
}
