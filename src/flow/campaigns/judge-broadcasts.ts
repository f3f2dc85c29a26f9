import type { Config } from '../../platform/config/index.ts';
import type { World } from '../../platform/world/index.ts';
import { judgedCountsOf, type JudgedCounts } from '../../resources/broadcast-recipients/index.ts';
import { holdForOutcome, judgeable, type HeldForOutcome } from '../../resources/broadcasts/index.ts';

/** So many that bounced or were reported show something; fewer may be an accident, whatever share they are. */
const SEVERAL = 3;

/** Why a broadcast is to be held, by what came of it; undefined where all is well. */
export function faultIn(
  { delivered, bounced, complained }: JudgedCounts,
  limits: Config['broadcasts'],
): Omit<HeldForOutcome, 'at'> | undefined {
  const { hold_bounce_percent: bounceMax, hold_complaint_percent: complaintMax } = limits;
  const isBeyond = (bad: number, of: number, floor: number, max: number): boolean =>
    of >= floor && bad >= SEVERAL && (bad * 100) / of > max;
  const said = (bad: number, of: number, what: string, max: number): string =>
    `${bad} of ${of} emails ${what} (${shareOf(bad, of)} %); the limit is ${max} %`;
  if (isBeyond(complained, delivered, limits.hold_complaint_after, complaintMax)) {
    return { reason: 'complaints', detail: said(complained, delivered, 'were reported as spam', complaintMax) };
  }
  const ended = delivered + bounced;
  if (!isBeyond(bounced, ended, limits.hold_after, bounceMax)) return undefined;
  return { reason: 'bounces', detail: said(bounced, ended, 'bounced', bounceMax) };
}

const shareOf = (bad: number, of: number): string => `${Math.min(100, Math.round((bad * 10_000) / of) / 100)}`;

/**
 * Holds those of these broadcasts whose mail bounces or is reported as spam, by what came of it since somebody resumed it.
 * Answers the ids of what it held.
 */
export async function judgeBroadcasts({ db, clock, config, log }: World, ids: readonly string[]): Promise<Set<string>> {
  const held = new Set<string>();
  if (ids.length === 0) return held;
  const counts = await judgedCountsOf(db, ids);
  const suspect = [...counts].filter(([, { bounced, complained }]) => Math.max(bounced, complained) >= SEVERAL);
  if (suspect.length === 0) return held;
  const rows = await judgeable(
    db,
    suspect.map(([id]) => id),
  );
  for (const row of rows) {
    const seen = counts.get(row.id);
    if (!seen) continue;
    const fault = faultIn(
      {
        delivered: seen.delivered - row.resumed_delivered,
        bounced: seen.bounced - row.resumed_bounced,
        complained: seen.complained - row.resumed_complained,
      },
      config.broadcasts,
    );
    if (!fault || !(await db.tx((tx) => holdForOutcome(tx, row.id, { ...fault, at: clock.now() })))) continue;
    held.add(row.id);
    log.warn({ broadcastId: row.id, reason: fault.reason, detail: fault.detail }, 'a broadcast is held');
  }
  return held;
}
