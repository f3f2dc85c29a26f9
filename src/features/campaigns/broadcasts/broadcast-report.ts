import { nextTurn } from '../../../platform/clock.ts';
import { BoundedMap } from '../../../platform/limits/index.ts';
import type { Store } from '../../../platform/store.ts';
import { latestAttempts } from '../../../mail/emails/index.ts';
import { outcomesByDomain, type DomainOutcomes, type OutcomeSums } from '../broadcast-recipients/outcomes.store.ts';
import { topLinks, type LinkRow } from '../broadcast-recipients/links.store.ts';
import { findBroadcast } from './broadcasts.store.ts';

export interface ProviderOutcomes extends OutcomeSums {
  /** The mailbox provider or the domain; null for all others together. */
  name: string | null;
}

/** The report of a broadcast without any data of single recipients. */
export interface BroadcastReport {
  startedAt: number | null;
  links: Pick<LinkRow, 'url' | 'clicks' | 'unique_clicks'>[];
  /** Null once the list of recipients was removed by age. */
  providers: ProviderOutcomes[] | null;
}

const LINKS_MAX = 100;
/** Rows per statement, so that it blocks the event loop for only a few milliseconds. */
const ROWS_AT_ONCE = 5000;
/** Domains whose provider is looked up, those with the most recipients. */
const LOOKED_UP_MAX = 200;
const SHOWN_MAX = 12;
/** A domain with fewer recipients could belong to one of them, so it is not named. */
const NAMED_FROM = 10;
const FRESH_MS = 60_000;
const KEPT_MAX = 100;

export async function readBroadcastReport(
  store: Store,
  { teamId, id }: { teamId: string; id: string },
): Promise<BroadcastReport> {
  const row = await findBroadcast(store.db, teamId, id);
  return {
    startedAt: row?.started_at === null || row === undefined ? null : Number(row.started_at),
    links: await topLinks(store.db, id, LINKS_MAX),
    providers: row === undefined || row.report_removed === 1 ? null : await sumOnce(store, id),
  };
}

interface Kept {
  at: number;
  sums: Promise<ProviderOutcomes[]>;
}

/** The key is the clock, which all stores of a process share. */
const keptByClock = new WeakMap<object, BoundedMap<string, Kept>>();

/** Returns sums of the last minute: they are read from every recipient, and pages load themselves again and again. */
function sumOnce(store: Store, id: string): Promise<ProviderOutcomes[]> {
  const kept = keptByClock.get(store.clock) ?? new BoundedMap<string, Kept>(KEPT_MAX);
  keptByClock.set(store.clock, kept);
  const now = store.clock.now();
  const known = kept.get(id);
  if (known && now - known.at < FRESH_MS && now >= known.at) return known.sums;
  const sums = sumByProvider(store, id);
  kept.set(id, { at: now, sums });
  sums.catch(() => kept.delete(id));
  return sums;
}

async function sumByProvider({ db, config }: Store, id: string): Promise<ProviderOutcomes[]> {
  const domains = new Map<string, DomainOutcomes>();
  for (let after = ''; ;) {
    const page = await outcomesByDomain(db, id, { after, limit: ROWS_AT_ONCE });
    for (const one of page.domains) domains.set(one.domain, addSums(domains.get(one.domain), one));
    if (page.last === undefined) break;
    after = page.last;
    await nextTurn();
  }
  const largest = [...domains.values()].sort((a, b) => b.recipients - a.recipients);
  const asked = largest.slice(0, LOOKED_UP_MAX);
  const attempts = await latestAttempts(
    db,
    asked.map((one) => one.email_id),
  );
  const providers = new Map(attempts.map((attempt) => [attempt.email_id, attempt.provider]));
  const named = new Map<string | null, ProviderOutcomes>();
  for (const one of largest) {
    const provider = providers.get(one.email_id) ?? null;
    const isKnown = one.recipients >= NAMED_FROM && HOST.test(one.domain);
    const name = provider === null ? (isKnown ? one.domain : null) : (config.providers[provider]?.title ?? provider);
    named.set(name, { name, ...addSums(named.get(name), one) });
  }
  return foldSmallest([...named.values()]);
}

const HOST = /^[\p{L}\p{N}.-]+$/u;

/** Adds the smallest entries to the one without a name, which comes last. */
function foldSmallest(all: readonly ProviderOutcomes[]): ProviderOutcomes[] {
  const named = all.filter(({ name }) => name !== null).sort((a, b) => b.recipients - a.recipients);
  const others = [...all.filter(({ name }) => name === null), ...named.slice(SHOWN_MAX)];
  const [first, ...more] = others;
  if (!first) return named;
  return [
    ...named.slice(0, SHOWN_MAX),
    more.reduce((sum, one) => ({ ...addSums(sum, one), name: null }), { ...first, name: null }),
  ];
}

function addSums<One extends OutcomeSums>(sum: OutcomeSums | undefined, one: One): One {
  if (!sum) return one;
  return {
    ...one,
    recipients: sum.recipients + one.recipients,
    delivered: sum.delivered + one.delivered,
    opened: sum.opened + one.opened,
    clicked: sum.clicked + one.clicked,
    bounced: sum.bounced + one.bounced,
    complained: sum.complained + one.complained,
  };
}
