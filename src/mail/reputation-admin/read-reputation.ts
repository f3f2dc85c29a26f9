import type { QueryOf } from '../../contract/index.ts';
import { isoTime } from '../../platform/clock.ts';
import type { Config } from '../../platform/config/index.ts';
import type { Executor } from '../../platform/db/index.ts';
import { notFound, refuse, type Refusal } from '../../platform/refusal.ts';
import type { Store } from '../../platform/store.ts';
import type { Ctx } from '../../tenancy/access/index.ts';
import { sumDmarcOfDomains } from '../domain-reports/index.ts';
import { listUsedSources } from '../egress-admin/index.ts';
import { findDomain, listDomainIdsNamed, loadDomainNames } from '../domains/index.ts';
import {
  hasSourceSent,
  sumCauses,
  summarizeReputation,
  type CauseCount,
  type Days,
  type GroupBy,
  type GroupReputation,
  type ReputationFilter,
} from '../reputation/index.ts';
import { listBlocklistStates, type CheckReader } from './blocklist-states.ts';

const DAY_MS = 86_400_000;
const DEFAULT_DAYS = 7;
const DEFAULT_LIMIT = 100;
const GROUPS: readonly GroupBy[] = ['source', 'provider', 'domain'];
const DEFAULT_GROUPS: readonly GroupBy[] = ['source', 'provider'];
/** Stands for all receivers without a provider, as in the metrics. */
const OTHER = 'other';
/** Far more than the providers that settings have. */
const PROVIDERS_MAX = 500;
const SHOWN_CHARS_MAX = 100;

/** Names a provider of the counts, which is empty for all receivers without one. */
export function nameProvider(
  { providers }: Config,
  provider: string,
): { provider: string | null; provider_title: string } {
  if (provider === '') return { provider: null, provider_title: 'Receivers without a provider' };
  return { provider, provider_title: providers[provider]?.title ?? provider };
}

/** Returns the days, counted from 1970, of a range that ends today. */
function readRange(days: number, now: number): Days {
  const untilDay = Math.floor(now / DAY_MS) + 1;
  return { fromDay: untilDay - days, untilDay };
}

const formatDay = (day: number): string => isoTime(day * DAY_MS).slice(0, 10);

function presentRange({ fromDay, untilDay }: Days) {
  const dates = Array.from({ length: untilDay - fromDay }, (_, at) => formatDay(fromDay + at));
  return { start_date: formatDay(fromDay), end_date: formatDay(untilDay - 1), days: dates.length, dates };
}

/** Shows an operator how the mail of all teams is taken. */
export async function getReputation(
  { db, clock, config }: Store,
  node: CheckReader,
  query: NonNullable<QueryOf<'getReputation'>>,
) {
  const groupBy = readGroups(query.group_by);
  const range = readRange(query.days ?? DEFAULT_DAYS, clock.now());
  const filter = await readFilter(db, config, query, range);
  const { groups, hasMore } = await summarizeReputation(db, {
    ...filter,
    ...range,
    groupBy,
    limit: query.limit ?? DEFAULT_LIMIT,
  });
  const domains = await loadDomains(db, groups, range);
  const states = await listBlocklistStates(config, node);
  return {
    object: 'reputation' as const,
    ...presentRange(range),
    group_by: [...groupBy],
    has_more: hasMore,
    data: groups.map((group) => ({ ...presentKey(config, group, domains), ...presentGroup(group) })),
    sources: states.filter(({ source }) => filter.source === undefined || source === filter.source),
  };
}

/** Shows a team how the mail of one of its domains is taken: by provider, and nothing of the sources it left by. */
export async function getDomainReputation(
  { store, teamId }: Ctx,
  domainId: string,
  query: NonNullable<QueryOf<'getDomainReputation'>>,
) {
  const { db, clock, config } = store;
  const domain = await findDomain(db, teamId, domainId);
  if (!domain) throw notFound('Domain');
  const range = readRange(query.days ?? DEFAULT_DAYS, clock.now());
  const { groups } = await summarizeReputation(db, {
    ...range,
    // The team of the counts too: another one may have had the domain before.
    teamId,
    domainIds: [domain.id],
    groupBy: ['provider'],
    limit: PROVIDERS_MAX,
  });
  return {
    object: 'domain_reputation' as const,
    domain_id: domain.id,
    domain_name: domain.name,
    ...presentRange(range),
    dmarc: (await sumDmarc(db, [domain.id], range)).get(domain.id) ?? null,
    data: groups.map((group) => ({
      ...nameProvider(config, group.key.provider ?? ''),
      ...presentGroup(group),
    })),
  };
}

const wrong = (say: string): Refusal => refuse('invalid_parameter', { say });

const quote = (text: string): string => JSON.stringify(text.slice(0, SHOWN_CHARS_MAX));

function readGroups(text: string | undefined): readonly GroupBy[] {
  if (text === undefined) return DEFAULT_GROUPS;
  const words = text.split(',').map((word) => word.trim());
  const unknown = words.find((word) => !(GROUPS as readonly string[]).includes(word));
  if (unknown !== undefined)
    throw wrong(`group_by must be a list of ${GROUPS.join(', ')}, separated by commas; got ${quote(unknown)}.`);
  return GROUPS.filter((group) => words.includes(group));
}

/** Reads what is asked for, and refuses names that nothing has. */
async function readFilter(
  db: Executor,
  config: Config,
  { source, provider, domain }: NonNullable<QueryOf<'getReputation'>>,
  range: Days,
): Promise<ReputationFilter> {
  const { sources, providers } = config;
  // Mail outside of pools has sources that the settings do not name.
  if (source !== undefined && !Object.hasOwn(sources, source) && !(await hasSourceSent(db, source, range)))
    throw wrong(
      `source must be a source of the settings, or one with mail within these days; got ${quote(source)}. ${listNames(listUsedSources(config))}`,
    );
  if (provider !== undefined && provider !== OTHER && !Object.hasOwn(providers, provider))
    throw wrong(
      `provider must be a provider of the settings, or ${OTHER}; got ${quote(provider)}. ${listNames(Object.keys(providers))}`,
    );
  const domainIds = domain === undefined ? undefined : await listDomainIdsNamed(db, domain.toLowerCase());
  if (domain !== undefined && domainIds?.length === 0)
    throw wrong(`domain must be the name of a sending domain; no team has ${quote(domain)}.`);
  return { source, provider: provider === OTHER ? '' : provider, domainIds };
}

const listNames = (names: readonly string[]): string =>
  names.length === 0 ? 'There is none.' : `There are ${names.toSorted().join(', ')}.`;

interface DomainFacts {
  names: ReadonlyMap<string, string>;
  dmarc: ReadonlyMap<string, { messages: number; failed: number }>;
}

/** Loads the names of the domains of all groups, and what DMARC reports say of them. */
async function loadDomains(db: Executor, groups: readonly GroupReputation[], range: Days): Promise<DomainFacts> {
  const ids = [...new Set(groups.flatMap(({ key }) => key.domain ?? []))];
  return { names: await loadDomainNames(db, ids), dmarc: await sumDmarc(db, ids, range) };
}

const sumDmarc = (db: Executor, ids: readonly string[], { fromDay, untilDay }: Days) =>
  sumDmarcOfDomains(db, ids, { fromDay: fromDay * DAY_MS, toDay: (untilDay - 1) * DAY_MS });

function presentKey(config: Config, { key }: GroupReputation, { names, dmarc }: DomainFacts) {
  const { source, provider, domain } = key;
  return {
    ...(source === undefined ? {} : { source }),
    ...(provider === undefined ? {} : nameProvider(config, provider)),
    ...(domain === undefined
      ? {}
      : { domain_id: domain, domain_name: names.get(domain) ?? null, dmarc: dmarc.get(domain) ?? null }),
  };
}

function presentGroup({ outcomes, rates, trend, level, reason, daily }: GroupReputation) {
  return {
    accepted: outcomes.accepted,
    deferred: presentCauses(outcomes.deferred),
    bounced: presentCauses(outcomes.bounced),
    complained: outcomes.complained,
    rates,
    trend: trend ?? null,
    level,
    reason,
    daily,
  };
}

const presentCauses = (counts: readonly CauseCount[]) => ({
  total: sumCauses(counts),
  causes: counts.map(({ cause, recipients }) => ({ cause: cause === '' ? null : cause, recipients })),
});
