import type { World } from '../../../platform/world/index.ts';
import { judgedCountsOf, type JudgedCounts } from '../broadcast-recipients/index.ts';
import { holdForOutcome, judgeable, type HeldForOutcome, type JudgedRow } from '../broadcasts/index.ts';
import { readRateLimits, sumStream, type RateLimits } from '../../../mail/stream-rates/index.ts';

type Fault = Omit<HeldForOutcome, 'at'>;

/** One of the two rates that a broadcast is held for. */
interface Rate {
  reason: Fault['reason'];
  bad: number;
  of: number;
  floor: number;
  max: number;
  what: string;
}

/** Lists the rates of what came of mail, complaints first. */
function listRates({ delivered, bounced, complained }: JudgedCounts, limits: RateLimits): Rate[] {
  return [
    {
      reason: 'complaints',
      bad: complained,
      of: delivered,
      floor: limits.complaintFloor,
      max: limits.complaintPercent,
      what: 'were reported as spam',
    },
    {
      reason: 'bounces',
      bad: bounced,
      of: delivered + bounced,
      floor: limits.bounceFloor,
      max: limits.bouncePercent,
      what: 'bounced',
    },
  ];
}

/** The broadcast's own share is too high, however few emails it is of. */
const isSuspect = ({ bad, of, max }: Rate, { several }: RateLimits): boolean => bad >= several && bad * 100 > max * of;

const describe = ({ bad, of, what }: Rate): string => `${bad} of ${of} emails ${what} (${formatShare(bad, of)} %)`;

const formatShare = (bad: number, of: number): string => `${Math.min(100, Math.round((bad * 10_000) / of) / 100)}`;

/** Finds the rate at which the broadcast's own emails are enough to judge it. */
function findOwnFault(own: readonly Rate[], limits: RateLimits): Fault | undefined {
  const rate = own.find((one) => isSuspect(one, limits) && one.of >= one.floor);
  return rate && { reason: rate.reason, detail: `${describe(rate)}; the limit is ${rate.max} %` };
}

/**
 * Finds a rate that is too high in the broadcast itself and in all broadcasts of its team within 24 hours. Neither a clean
 * broadcast after a bad one is held for it, nor a small one by itself.
 */
function findSharedFault(own: readonly Rate[], stream: readonly Rate[], limits: RateLimits): Fault | undefined {
  for (const rate of own) {
    const all = stream.find(({ reason }) => reason === rate.reason);
    if (!all || !isSuspect(rate, limits) || !isSuspect(all, limits) || all.of < all.floor) continue;
    const shared = `of all broadcasts of the team within 24 hours ${all.bad} of ${all.of} (${formatShare(all.bad, all.of)} %)`;
    return { reason: rate.reason, detail: `${describe(rate)}, ${shared}; the limit is ${rate.max} %` };
  }
  return undefined;
}

/**
 * Holds those of these broadcasts whose mail bounces or is reported as spam: by their own figures since somebody resumed
 * them where these reach the floor, and otherwise with the figures of all broadcasts of their team within 24 hours. Returns
 * the ids of those it held.
 */
export async function judgeBroadcasts({ db, clock, config, log }: World, ids: readonly string[]): Promise<Set<string>> {
  const held = new Set<string>();
  if (ids.length === 0) return held;
  const limits = readRateLimits(config);
  const counts = await judgedCountsOf(db, ids);
  const suspect = [...counts].filter(([, seen]) => Math.max(seen.bounced, seen.complained) >= limits.several);
  if (suspect.length === 0) return held;
  const rows = await judgeable(
    db,
    suspect.map(([id]) => id),
  );
  const streams = new Map<string, readonly Rate[]>();
  for (const row of rows) {
    const seen = counts.get(row.id);
    if (!seen) continue;
    const own = listRates(subtractResumed(seen, row), limits);
    if (!own.some((rate) => isSuspect(rate, limits))) continue;
    const fault = findOwnFault(own, limits) ?? (await findWithStream(row, own));
    if (!fault || !(await db.tx((tx) => holdForOutcome(tx, row.id, { ...fault, at: clock.now() })))) continue;
    held.add(row.id);
    log.warn({ broadcastId: row.id, reason: fault.reason, detail: fault.detail }, 'a broadcast is held');
  }
  return held;

  /** Somebody who resumed it knew the figures of the day: from then on its own alone count. */
  async function findWithStream(row: JudgedRow, own: readonly Rate[]): Promise<Fault | undefined> {
    if (row.resumed_bounced > 0 || row.resumed_complained > 0) return undefined;
    const stream =
      streams.get(row.team_id) ?? listRates(await sumStream(db, row.team_id, 'broadcast', clock.now()), limits);
    streams.set(row.team_id, stream);
    return findSharedFault(own, stream, limits);
  }
}

const subtractResumed = (seen: JudgedCounts, row: JudgedRow): JudgedCounts => ({
  delivered: seen.delivered - row.resumed_delivered,
  bounced: seen.bounced - row.resumed_bounced,
  complained: seen.complained - row.resumed_complained,
});
