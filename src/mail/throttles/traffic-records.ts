import { repeat } from '../../platform/clock.ts';
import type { Store } from '../../platform/store.ts';
import type { RecipientOutcome, SiteTarget, Traffic } from '../deliver/index.ts';
import {
  addProviderCounts,
  forgetTraffic,
  putConnections,
  putRecipientDomains,
  type ConnectionRow,
  type ProviderCount,
  type RecipientDomain,
} from './throttles.store.ts';

const WRITE_MS = 5_000;
export const PERIOD_MS = 5 * 60_000;
const COUNTS_KEPT_MS = 2 * 24 * 3_600_000;
const DOMAINS_KEPT_MS = 90 * 24 * 3_600_000;
const DAY_MS = 24 * 3_600_000;
/** Domains that are remembered as stored; the oldest are forgotten first, and are written once more. */
const KNOWN_MAX = 50_000;

/** The label of all receivers without a provider. */
export const OTHER = 'other';

export interface TrafficRecords {
  noteDomain(name: string, found: { provider: string | undefined; servers: string }): void;
  noteOutcomes(target: SiteTarget, outcomes: readonly RecipientOutcome[]): void;
  /** Writes what was noted. A crash loses some seconds of it, which only figures show. */
  flush(): Promise<void>;
  start(): void;
  stop(): Promise<void>;
}

/**
 * Records where the mail of each domain goes, how much of it each provider accepts, defers and bounces, and which connections
 * this process has open.
 */
export function createTrafficRecords(
  { db, clock, log, ids, meter }: Store,
  traffic: () => readonly Traffic[],
): TrafficRecords {
  const node = ids.uuid();
  let hasConnections = false;
  const known = new Map<string, { place: string; writtenAt: number }>();
  let domains = new Map<string, RecipientDomain>();
  let counts = new Map<string, ProviderCount>();
  let stopWriting = (): void => {};
  let forgottenAt = 0;

  async function flush(): Promise<void> {
    const now = clock.now();
    const isForgetting = now - forgottenAt > DAY_MS;
    const open = traffic().filter(({ connections }) => connections > 0);
    if (domains.size + counts.size + open.length === 0 && !hasConnections && !isForgetting) return;
    const someDomains = [...domains.values()];
    const someCounts = [...counts.values()];
    domains = new Map();
    counts = new Map();
    try {
      await db.txUnsynced(async (tx) => {
        await putRecipientDomains(tx, someDomains, now);
        await addProviderCounts(tx, someCounts, Math.floor(now / PERIOD_MS) * PERIOD_MS);
        await putConnections(tx, node, open.map(toConnectionRow), now);
        if (isForgetting) await forgetTraffic(tx, { counts: now - COUNTS_KEPT_MS, domains: now - DOMAINS_KEPT_MS });
      });
      hasConnections = open.length > 0;
      if (isForgetting) forgottenAt = now;
    } catch (err) {
      for (const { name } of someDomains) known.delete(name);
      log.warn({ err }, 'figures about providers could not be stored');
    }
  }

  return {
    noteDomain(name, { provider = '', servers }) {
      const place = `${provider}\n${servers}`;
      const now = clock.now();
      const before = known.get(name);
      if (before?.place === place && now - before.writtenAt < DAY_MS) return;
      known.delete(name);
      known.set(name, { place, writtenAt: now });
      domains.set(name, { name, provider, servers });
      if (known.size <= KNOWN_MAX) return;
      for (const oldest of known.keys()) return void known.delete(oldest);
    },
    noteOutcomes({ source, provider, servers }, outcomes) {
      const place = { source, provider: provider ?? '', servers: provider === undefined ? servers : '' };
      const key = JSON.stringify(place);
      const count = counts.get(key) ?? { ...place, accepted: 0, deferred: 0, bounced: 0 };
      counts.set(key, count);
      for (const { kind } of outcomes) {
        if (kind === 'delivered') count.accepted += 1;
        if (kind === 'deferred') count.deferred += 1;
        if (kind === 'bounced') count.bounced += 1;
        meter.count('rasket_provider_deliveries_total', { provider: provider ?? OTHER, outcome: kind });
      }
    },
    flush,
    start() {
      stopWriting = repeat(clock, WRITE_MS, flush);
    },
    async stop() {
      stopWriting();
      await flush();
    },
  };
}

const toConnectionRow = ({ source, provider, servers, connections, connectionsMax }: Traffic): ConnectionRow => ({
  source,
  provider: provider ?? '',
  servers: provider === undefined ? (servers ?? '') : '',
  connections,
  connections_max: Number.isFinite(connectionsMax) ? connectionsMax : null,
});
