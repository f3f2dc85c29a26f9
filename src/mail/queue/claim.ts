import { withoutEvent } from '../events/index.ts';
import type { Executor } from '../../platform/db/index.ts';
import type { World } from '../../platform/world.ts';
import { beginAttempts, recordEmailEvents, type EmailEvent } from '../emails/index.ts';
import {
  claimDue,
  toEventEmail,
  teamsWithDue,
  recordHandOffs,
  renewLeases,
  unclaim,
  unclaimAllBut,
  type DeliveryRow,
  type DueWork,
  type ClaimKey,
} from './deliveries.store.ts';
import type { AtLimit } from './in-flight.ts';
import { isRetrying, laneNumber, type Lane } from './lanes.ts';
import { putAside, ruleOn, type ClaimedDelivery, type ObstacleRule } from './rules.ts';
import { nextTurn, stopwatch } from '../../platform/clock.ts';
import { LeaseLost } from './process-delivery.ts';

export interface ClaimRequest {
  owner: string;
  limit: number;
  lane: Lane;
  /**
   * Claims the same number from each team, and nothing for those at their in-flight limit; without it, the oldest due
   * are claimed. `scanMax` of a team's due deliveries are looked at. `isBehind`: nothing of a team that has transactional mail due, which goes first.
   */
  share?: { atLimit: AtLimit | undefined; isBehind: boolean; scanMax?: number | undefined };
  /** Mail to a destination that is known to be down moves to the lane of retries; mail to a suspended one waits. */
  obstacles?: ObstacleRule;
}

interface Claimed {
  claimed: ClaimedDelivery[];
  /** Number of due deliveries, including those that were deferred, held or moved to the lane of retries. */
  due: number;
  /** True if more may be due than the claim asked for. */
  isMore: boolean;
  /** Number of deliveries that were moved to the lane of retries. */
  movedToRetrying: number;
}

/**
 * Claims due deliveries, as far as the rules let them begin, and records `email.sent` for every email with remaining
 * recipients: from here on it cannot be canceled. All in the caller's transaction, so a cancellation comes either
 * before it or too late.
 */
export async function claimDeliveries(world: World, tx: Executor, request: ClaimRequest): Promise<Claimed> {
  const now = world.clock.now();
  const work = { lane: request.lane, now, limit: request.limit };
  const leaseUntil = now + world.config.delivery.lease_seconds * 1000;
  const share = request.share && (await shareOut(world, tx, work, request.share));
  const due = await claimDue(tx, { ...work, owner: request.owner, leaseUntil, ...(share ? { share } : {}) });
  const isMore = due.length >= request.limit || (share !== undefined && hasTeamWith(due, share.perTeam));
  const ruling = await ruleOn(tx, due, { rule: request.obstacles, now });
  await putAside(tx, request.owner, ruling, now);
  await recordSent(world, tx, ruling.free, now);
  return { claimed: ruling.free, due: due.length, isMore, movedToRetrying: ruling.down.length };
}

/**
 * Divides the limit evenly among the teams with due mail; if there are more teams than the limit, among a random part
 * of them.
 */
async function shareOut(
  world: World,
  tx: Executor,
  work: Pick<DueWork, 'lane' | 'now' | 'limit'>,
  { atLimit, isBehind, scanMax }: NonNullable<ClaimRequest['share']>,
): Promise<NonNullable<DueWork['share']>> {
  const first = isBehind
    ? await teamsWithDue(tx, { lane: laneNumber(isRetrying(work.lane) ? 'retrying' : 'transactional'), now: work.now })
    : [];
  const except = new Set([...(atLimit?.teams ?? []), ...first]);
  const all = (await teamsWithDue(tx, work)).filter((team) => !except.has(team));
  const from = Math.floor(world.random() * all.length);
  const teams = [...all.slice(from), ...all.slice(0, from)].slice(0, work.limit);
  return { teams, perTeam: Math.ceil(work.limit / Math.max(1, teams.length)), atLimit, scanMax };
}

function hasTeamWith(rows: readonly DeliveryRow[], count: number): boolean {
  const counts = new Map<string, number>();
  for (const { team_id: team } of rows) counts.set(team, (counts.get(team) ?? 0) + 1);
  return [...counts.values()].some((n) => n >= count);
}

async function recordSent(world: World, tx: Executor, deliveries: ClaimedDelivery[], now: number): Promise<void> {
  const rowsById = new Map<string, DeliveryRow>();
  const overtaken = new Set<string>();
  for (const { row, recipients } of deliveries) {
    if (recipients.length === 0) continue;
    rowsById.set(row.email_id, row);
    if (row.attempt === 1) overtaken.add(row.email_id);
  }
  const moved = await beginAttempts(tx, [...rowsById.keys()], now);
  for (const emailId of moved) overtaken.delete(emailId);
  // Another destination of the email may have ended before, for instance because all its recipients are suppressed: its
  // state has moved on without an `email.sent`.
  const late = new Set(await withoutEvent(tx, [...overtaken], 'email.sent'));
  const sent = [...moved, ...late].flatMap((emailId): EmailEvent[] => {
    const row = rowsById.get(emailId);
    // Another node may be recording `email.sent` of a late one now: the look-up under a lock decides
    // (`firstOfTheirKind` of `events/metric-counts.store.ts`).
    return row ? [{ email: toEventEmail(row), type: 'email.sent', at: now, isFirst: !late.has(emailId) }] : [];
  });
  await recordEmailEvents(tx, world.ids, sent);
}

interface HeldAgain {
  /** Returns the deliveries that may begin: all but those already being processed here. */
  without(claimed: ClaimedDelivery[]): Promise<ClaimedDelivery[]>;
  /** Unclaims what was claimed but never begun; called once nothing is being processed any more. */
  releaseUnstarted(): Promise<void>;
}

/**
 * Another node may take over a delivery that is being processed here, and lose it to us again, as the same attempt: the
 * work item under way then covers it again, and a second one would send it twice.
 */
export function createHeldAgain(options: {
  inProgress(): readonly { delivery: ClaimedDelivery }[];
  unclaimAllBut(deliveryIds: string[]): Promise<unknown>;
}): HeldAgain {
  let wereSome = false;
  const isInProgress = ({ row }: ClaimedDelivery): boolean =>
    options.inProgress().some(({ delivery: { row: its } }) => its.id === row.id && its.attempt === row.attempt);
  return {
    async without(claimed) {
      if (!claimed.some(isInProgress)) return claimed;
      // An interrupted delivery that was just rescheduled, to be claimed again at once, leaves before the next turn.
      await nextTurn();
      const again = claimed.filter(isInProgress);
      wereSome ||= again.length > 0;
      return claimed.filter((one) => !again.includes(one));
    },
    async releaseUnstarted() {
      if (wereSome) await options.unclaimAllBut([]);
    },
  };
}

/**
 * Writes the queue's claims, renewals and hand-offs; those that arrive together share one commit. Undoing has
 * transactions of its own.
 */
interface Ledger {
  /** `tookMs`: the statements alone, without the wait for a commit. */
  claim(request: Omit<ClaimRequest, 'owner'>): Promise<Claimed & { tookMs: number }>;
  intend(claim: ClaimKey): Promise<void>;
  /** Runs in the shared commit: in separate transactions, each of the two could wait for rows of the other. */
  renew(deliveryIds: string[]): Promise<void>;
  unclaim(deliveryIds: string[]): Promise<void>;
  /** Undoes all our claims except these; returns how many. */
  unclaimAllBut(deliveryIds: string[]): Promise<number>;
}

export function createLedger(world: World, owner: string): Ledger {
  const { ambiguous_hours: ambiguousHours, lease_seconds: leaseSeconds } = world.config.delivery;
  const ambiguousMs = ambiguousHours * 3_600_000;
  const leaseMs = leaseSeconds * 1000;
  return {
    claim: world.commits.lane(async (tx, requests) => {
      const claims: Awaited<ReturnType<Ledger['claim']>>[] = [];
      for (const request of requests) {
        const elapsedMs = stopwatch();
        const claimed = await claimDeliveries(world, tx, { ...request, owner });
        claims.push({ ...claimed, tookMs: elapsedMs() });
      }
      return claims;
    }),
    intend: world.commits.lane<ClaimKey, void>(async (tx, claims) => {
      const now = world.clock.now();
      // `recover.ts` knows a hand-off by these two times being `ambiguous_hours` apart.
      const ours = await recordHandOffs(tx, owner, claims, { now, doubtUntil: now + ambiguousMs });
      return claims.map(({ id }) => (ours.has(id) ? undefined : new LeaseLost('another node holds this delivery now')));
    }),
    renew: world.commits.lane<string[], void>(async (tx, lists) => {
      await renewLeases(tx, owner, lists.flat(), world.clock.now() + leaseMs);
      return lists.map(() => undefined);
    }),
    unclaimAllBut: (ids) => world.db.tx((tx) => unclaimAllBut(tx, owner, ids, world.clock.now())),
    unclaim: (ids) => world.db.tx((tx) => unclaim(tx, owner, ids, world.clock.now())),
  };
}
