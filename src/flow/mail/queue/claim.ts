import { withoutEvent } from '../../../events/index.ts';
import type { Executor } from '../../../platform/db/index.ts';
import { timeOfId } from '../../../platform/ids/index.ts';
import type { World } from '../../../platform/world/index.ts';
import { normalizeAddress } from '../../../protocol/address/index.ts';
import {
  accountMailAmong,
  advanceLastEvent,
  recordEmailEvents,
  type EmailEvent,
} from '../../../resources/emails/index.ts';
import { suppressionsAmong } from '../../../resources/suppressions/index.ts';
import { suspendedAmong } from '../../../resources/teams/index.ts';
import {
  claimDue,
  deferClaims,
  emailOf,
  moveToRetrying,
  teamsWithDue,
  type DeliveryRow,
  type DueWork,
} from './deliveries.store.ts';
import { holdsOnMail } from './holds.store.ts';
import type { AtLimit } from './in-flight.ts';
import { isRetrying, laneNumber, type Lane } from './lanes.ts';
import { leftSince } from './opt-outs.ts';
import type { Outcome } from './outcome.ts';
import { holdClaims } from './waiting.store.ts';

export interface ClaimedDelivery {
  row: DeliveryRow;
  /** Still to be delivered to. */
  recipients: string[];
  /** Outcomes that need no delivery, such as of suppressed recipients. */
  decided: Outcome[];
}

export interface ClaimRequest {
  owner: string;
  limit: number;
  lane: Lane;
  /**
   * Claims as many from each team, and nothing for what is at its in-flight limit; without it, the oldest due are claimed.
   * `isBehind`: nothing of a team that has transactional mail due, which goes first.
   */
  share?: { atLimit: AtLimit | undefined; isBehind: boolean };
  /** Whether a delivery's destination is known to be down: its mail moves to the lane of retries. */
  isDown?: (row: DeliveryRow) => boolean;
}

export interface Claimed {
  claimed: ClaimedDelivery[];
  /** How many were due, those that were deferred, held or moved to the lane of retries included. */
  due: number;
  /** More may be due than was asked for. */
  isMore: boolean;
  /** How many were moved to the lane of retries. */
  movedToRetrying: number;
}

const NOTHING: Claimed = { claimed: [], due: 0, isMore: false, movedToRetrying: 0 };

/**
 * Claims due deliveries, takes out suppressed recipients, and records `email.sent` for every email that has recipients left:
 * from here on it cannot be canceled. All in the caller's transaction, so a cancellation comes either before it or too late.
 */
export async function claimDeliveries(world: World, tx: Executor, request: ClaimRequest): Promise<Claimed> {
  const now = world.clock.now();
  const work = { lane: request.lane, now, limit: request.limit };
  const leaseUntil = now + world.config.delivery.lease_seconds * 1000;
  const share = request.share && (await shareOut(world, tx, work, request.share));
  const due = await claimDue(tx, { ...work, owner: request.owner, leaseUntil, ...(share ? { share } : {}) });
  const isMore = due.length >= request.limit || (share !== undefined && hasTeamWith(due, share.perTeam));
  const free = await withoutHeld(tx, request.owner, due, now);
  const reachable = await withoutDown(tx, request, free, now);
  const rows = await withoutSuspended(tx, request.owner, reachable, now);
  const counts = { due: due.length, isMore, movedToRetrying: free.length - reachable.length };
  if (rows.length === 0) return { ...NOTHING, ...counts };
  const addressed = rows.map((row) => ({ row, addresses: JSON.parse(row.recipients) as string[] }));
  const suppressed = await suppressedAmong(tx, addressed);
  const left = await leftSince(tx, rows);
  const claimed = addressed.map(({ row, addresses }): ClaimedDelivery => {
    if (row.handed_off_at !== null) {
      const decided = addresses.map((address): Outcome => ({
        kind: 'failed',
        address,
        reason: 'ambiguous_submission',
      }));
      return { row, recipients: [], decided };
    }
    const recipients: string[] = [];
    const decided: Outcome[] = [];
    for (const address of addresses) {
      const origin = left.has(row.email_id) ? 'opt_out' : suppressed(row, address);
      if (origin === undefined) recipients.push(address);
      else decided.push({ kind: 'suppressed', address, origin });
    }
    return { row, recipients, decided };
  });
  await recordSent(world, tx, claimed, now);
  return { claimed, ...counts };
}

/** Divides the limit evenly among the teams with due mail; where they are more than the limit, a random part of them. */
async function shareOut(
  world: World,
  tx: Executor,
  work: Pick<DueWork, 'lane' | 'now' | 'limit'>,
  { atLimit, isBehind }: NonNullable<ClaimRequest['share']>,
): Promise<NonNullable<DueWork['share']>> {
  const first = isBehind
    ? await teamsWithDue(tx, { lane: laneNumber(isRetrying(work.lane) ? 'retrying' : 'transactional'), now: work.now })
    : [];
  const except = new Set([...(atLimit?.teams ?? []), ...first]);
  const all = (await teamsWithDue(tx, work)).filter((team) => !except.has(team));
  const from = Math.floor(world.random() * all.length);
  const teams = [...all.slice(from), ...all.slice(0, from)].slice(0, work.limit);
  return { teams, perTeam: Math.ceil(work.limit / Math.max(1, teams.length)), atLimit };
}

function hasTeamWith(rows: readonly DeliveryRow[], count: number): boolean {
  const counts = new Map<string, number>();
  for (const { team_id: team } of rows) counts.set(team, (counts.get(team) ?? 0) + 1);
  return [...counts.values()].some((n) => n >= count);
}

/** Holds are read in the transaction of the claim: once a hold is committed, no delivery that it covers is begun. */
async function withoutHeld(tx: Executor, owner: string, due: DeliveryRow[], now: number): Promise<DeliveryRow[]> {
  if (due.length === 0) return due;
  const holds = await holdsOnMail(tx, [...new Set(due.flatMap((row) => row.broadcast_id ?? []))]);
  if (holds.length === 0) return due;
  const holdOn = new Map(holds.map(({ id, kind, value }) => [`${kind} ${value}`, id]));
  // What was handed off is settled in spite of a hold.
  const holdOf = (row: DeliveryRow): string | undefined =>
    row.handed_off_at !== null
      ? undefined
      : (holdOn.get(`destination ${row.destination}`) ??
        holdOn.get(`team_id ${row.team_id}`) ??
        holdOn.get(`email_id ${row.email_id}`) ??
        holdOn.get(`broadcast_id ${row.broadcast_id}`));
  const held = due.filter((row) => holdOf(row) !== undefined);
  for (const [holdId, rows] of Map.groupBy(held, holdOf)) {
    const ids = rows.map((row) => row.id);
    if (holdId !== undefined) await holdClaims(tx, owner, ids, { holdId, now });
  }
  return due.filter((row) => holdOf(row) === undefined);
}

/** An attempt at a destination that is down costs as much as a delivery, so that its mail moves to the lane of retries. */
async function withoutDown(
  tx: Executor,
  { owner, isDown }: ClaimRequest,
  due: DeliveryRow[],
  now: number,
): Promise<DeliveryRow[]> {
  if (!isDown) return due;
  const aside = new Set(due.filter((row) => row.handed_off_at === null && isDown(row)));
  if (aside.size === 0) return due;
  await moveToRetrying(
    tx,
    owner,
    [...aside].map((row) => row.id),
    now,
  );
  return due.filter((row) => !aside.has(row));
}

/**
 * For how long the mail of a suspended team is deferred: longer the older it is, so that the backlog of a team that stays
 * suspended is not rewritten all day.
 */
const DEFER_MS_MIN = 5 * 60_000;
const DEFER_MS_MAX = 3_600_000;

/** A suspended team sends nothing; its mail waits for the operator. What was handed off before is still settled. */
async function withoutSuspended(tx: Executor, owner: string, due: DeliveryRow[], now: number): Promise<DeliveryRow[]> {
  const suspended = new Set(await suspendedAmong(tx, [...new Set(due.map((row) => row.team_id))]));
  if (suspended.size === 0) return due;
  const isDeferred = (row: DeliveryRow): boolean => suspended.has(row.team_id) && row.handed_off_at === null;
  const deferred = due.filter(isDeferred);
  const ageMs = Math.min(...deferred.map((row) => now - timeOfId(row.id)));
  const deferMs = Math.min(DEFER_MS_MAX, Math.max(DEFER_MS_MIN, ageMs / 2));
  const ids = deferred.map((row) => row.id);
  await deferClaims(tx, owner, ids, { now, until: Math.round(now + deferMs) });
  return due.filter((row) => !isDeferred(row));
}

async function recordSent(world: World, tx: Executor, deliveries: ClaimedDelivery[], now: number): Promise<void> {
  const rowOf = new Map<string, DeliveryRow>();
  const overtaken = new Set<string>();
  for (const { row, recipients } of deliveries) {
    if (recipients.length === 0) continue;
    rowOf.set(row.email_id, row);
    if (row.attempt === 1) overtaken.add(row.email_id);
  }
  const moved = await advanceLastEvent(tx, [...rowOf.keys()], 'sent');
  for (const emailId of moved) overtaken.delete(emailId);
  // Another destination of the email may have ended before, as one whose recipients are all suppressed: its state has moved on without an `email.sent`.
  const late = new Set(await withoutEvent(tx, [...overtaken], 'email.sent'));
  const sent = [...moved, ...late].flatMap((emailId): EmailEvent[] => {
    const row = rowOf.get(emailId);
    // Another node may be recording `email.sent` of a late one now: the look-up under a lock decides (`firstOfTheirKind` of `events/metric-counts.store.ts`).
    return row ? [{ email: emailOf(row), type: 'email.sent', at: now, isFirst: !late.has(emailId) }] : [];
  });
  await recordEmailEvents(tx, world.ids, sent);
}

const keyOf = (teamId: string, address: string): string => `${teamId} ${normalizeAddress(address)}`;

/**
 * By what each recipient is suppressed, if at all. What members of a team suppress by hand keeps no mail about an account from
 * anybody: the team lends it a domain, and decides nothing about it.
 */
async function suppressedAmong(
  tx: Executor,
  claimed: { row: DeliveryRow; addresses: string[] }[],
): Promise<(row: DeliveryRow, address: string) => 'bounce' | 'complaint' | 'manual' | undefined> {
  const wanted = claimed.flatMap(({ row, addresses }) =>
    addresses.map((address) => [row.team_id, normalizeAddress(address)] as const),
  );
  const found = await suppressionsAmong(tx, wanted);
  const origins = new Map(found.map((entry) => [`${entry.team_id} ${entry.email_key}`, entry.origin]));
  const byHand = claimed.filter(({ row, addresses }) =>
    addresses.some((address) => origins.get(keyOf(row.team_id, address)) === 'manual'),
  );
  const ofAccounts = await accountMailAmong(tx, [...new Set(byHand.map(({ row }) => row.email_id))]);
  return (row, address) => {
    const origin = origins.get(keyOf(row.team_id, address));
    return origin === 'manual' && ofAccounts.has(row.email_id) ? undefined : origin;
  };
}
