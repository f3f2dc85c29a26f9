import { isoTime } from '../../platform/clock.ts';
import type { Finding } from '../../platform/finding.ts';
import type { Store } from '../../platform/store.ts';
import { getWarmUp, listUsedSources } from '../../mail/egress-admin/index.ts';
import { listWarmUps } from '../../mail/egress/index.ts';
import { nameProvider } from '../../mail/reputation-admin/index.ts';
import { sumCauses, summarizeReputation, type GroupReputation } from '../../mail/reputation/index.ts';
import { createSendSwitch } from '../../tenancy/instance/index.ts';
import { composeSummary, type Summary, type SummaryEntry, type SummaryWarmUp } from './compose-summary.ts';
import { isSummaryDone, noteSummary } from './reputation-summaries.store.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** A mail with more entries would not be read. */
const ENTRIES_MAX = 200;
const FINDINGS_MAX = 50;
const KIND = 'reputation_summary';

interface SummaryMail {
  kind: string;
  occasion: string;
  to: string;
  subject: string;
  text: string;
  html: string;
}

interface Parts {
  node: { loadReport(): Promise<{ findings: readonly Finding[] }> };
  /** Sends a mail of the installation once for its kind and occasion; returns the reason if it was not sent. */
  sendMail(mail: SummaryMail): Promise<string | undefined>;
}

/**
 * Creates the job that sends the summary of the day that ended last, once its hour has come. What became of it is recorded after
 * the mails were accepted; a run that follows a crash accepts none of them again, because each is accepted once for its day and
 * address.
 */
export function createReputationSummary(store: Store, { node, sendMail }: Parts): () => Promise<void> {
  const { clock, config, db, log } = store;
  const { summary_to: addresses, summary_hour: hour } = config.reputation;
  const sendSwitch = createSendSwitch(store);
  let lastDay: number | undefined;

  async function send(day: number): Promise<string> {
    const summary = await loadSummary(store, node, day);
    if (summary.entries.length === 0 && summary.findings.length === 0) return 'nothing to report';
    const mail = composeSummary(summary);
    const faults = new Set<string>();
    for (const to of addresses) {
      const fault = await sendMail({ kind: KIND, occasion: `${summary.date} ${to}`, to, ...mail });
      if (fault === undefined) continue;
      faults.add(fault);
      log.warn({ to, day: summary.date, fault }, 'the summary of reputation could not be sent');
    }
    return faults.size === 0 ? 'sent' : `not sent to all: ${[...faults].join(' ')}`;
  }

  return async () => {
    const now = clock.now();
    const today = Math.floor(now / DAY_MS);
    const isDue = addresses.length > 0 && lastDay !== today - 1 && now >= today * DAY_MS + hour * HOUR_MS;
    // A restored copy sends nothing either until an operator confirms it.
    if (!isDue || !(await sendSwitch()).isOn) return;
    const day = today - 1;
    if (!(await isSummaryDone(db, day))) {
      const outcome = await send(day);
      await db.tx((tx) => noteSummary(tx, { day, outcome, at: clock.now() }));
    }
    lastDay = day;
  };
}

/** Loads what happened on a day, and what is wrong now. */
async function loadSummary(store: Store, node: Parts['node'], day: number): Promise<Summary> {
  const { db, config } = store;
  const query = { groupBy: ['source', 'provider'] as const, limit: ENTRIES_MAX };
  const { groups, hasMore } = await summarizeReputation(db, { ...query, fromDay: day, untilDay: day + 1 });
  const before = await summarizeReputation(db, { ...query, fromDay: day - 1, untilDay: day });
  const levels = new Map(before.groups.map(({ key, level }) => [JSON.stringify(key), level]));
  const { findings } = await node.loadReport();
  return {
    host: config.instance.host,
    date: isoTime(day * DAY_MS).slice(0, 10),
    entries: groups.map((group) => ({ ...present(store, group), before: levels.get(JSON.stringify(group.key)) })),
    isCut: hasMore,
    findings: findings.slice(0, FINDINGS_MAX),
    ...(await loadWarmUps(store)),
  };
}

function present(
  { config }: Store,
  { key, outcomes, rates, level, reason }: GroupReputation,
): Omit<SummaryEntry, 'before'> {
  return {
    source: key.source ?? '',
    provider: nameProvider(config, key.provider ?? '').provider_title,
    accepted: outcomes.accepted,
    deferred: sumCauses(outcomes.deferred),
    bounced: sumCauses(outcomes.bounced),
    complained: outcomes.complained,
    rates,
    level,
    reason,
  };
}

/** Loads how far the warm-ups are; one of a source that no pool contains any more is left out. */
async function loadWarmUps(store: Store): Promise<Pick<Summary, 'warmUps' | 'idleWarmUps'>> {
  const warmUps: SummaryWarmUp[] = [];
  const idleWarmUps: string[] = [];
  const used = new Set(listUsedSources(store.config));
  for (const { source } of await listWarmUps(store.db)) {
    if (!used.has(source)) continue;
    const { state, providers } = await getWarmUp(store, source);
    if (providers.length === 0) idleWarmUps.push(source);
    for (const { title, day, days } of providers)
      warmUps.push({ source, provider: title, day, days, isPaused: state === 'paused' });
  }
  return { warmUps, idleWarmUps };
}
