import { defineHook } from '../../platform/hook.ts';
import type { Executor } from '../../platform/db/index.ts';
import { timeOfId } from '../../platform/ids.ts';
import { normalizeAddress } from '../../protocol/address/index.ts';
import { accountMailAmong } from '../emails/index.ts';
import { sendingNames } from '../domains/index.ts';
import { suppressionsAmong } from '../suppressions/index.ts';
import { suspendedAmong } from '../../tenancy/teams/index.ts';
import { deferClaims, moveToRetrying, postponeClaims, postponeQuiet, type DeliveryRow } from './deliveries.store.ts';
import { holdsOnMail, holdClaims } from './waiting.store.ts';
import type { Obstacle, RecipientOutcome } from '../deliver/index.ts';

export interface ClaimedDelivery {
  row: DeliveryRow;
  /** Recipients still to be delivered to. */
  recipients: string[];
  /** Outcomes that need no delivery, such as of suppressed recipients. */
  decided: Outcome[];
}

/** Decides which mail is deferred without an attempt, because its destination failed a moment ago or is suspended. */
export interface ObstacleRule {
  findObstacle(row: DeliveryRow, senderDomain: string | undefined): Obstacle | undefined;
  /** True if the answer depends on the sending domain, which is looked up then. */
  readonly dependsOnSender: boolean;
  /** Mail is given up after this time, which goes on while its destination is suspended. */
  giveUpMs: number;
}

/** The result of the rules for due deliveries: each is in one of the lists. */
interface Ruling {
  /** Deliveries that may begin. */
  free: ClaimedDelivery[];
  /** Grouped by the id of the hold that covers them. */
  held: ReadonlyMap<string, DeliveryRow[]>;
  /** Deliveries whose destination is known to be down. */
  down: DeliveryRow[];
  /** Deliveries whose destination is suspended, by the time at which the suspension ends. */
  waiting: ReadonlyMap<number, DeliveryRow[]>;
  /** Marketing mail whose topic has quiet hours, by the time at which they end. */
  quiet: ReadonlyMap<number, DeliveryRow[]>;
  /** Deliveries of suspended teams, which send nothing; their mail waits for the operator. */
  suspended: DeliveryRow[];
}

/**
 * Applies all rules that keep due mail from being delivered, and finds the remaining recipients. A claim does so in its
 * transaction: once a hold is committed, no delivery that it covers begins. Handed-off deliveries are settled in spite
 * of every rule.
 */
export async function ruleOn(
  db: Executor,
  due: readonly DeliveryRow[],
  { rule, now }: { rule?: ObstacleRule | undefined; now: number },
): Promise<Ruling> {
  if (due.length === 0)
    return { free: [], held: new Map(), down: [], waiting: new Map(), quiet: new Map(), suspended: [] };
  const unsent = due.filter((row) => row.handed_off_at === null);
  const held = await heldAmong(db, unsent);
  const isHeld = new Set([...held.values()].flat());
  const quiet = await findQuiet(
    db,
    unsent.filter((row) => !isHeld.has(row)),
    now,
  );
  const isHeldOrQuiet = new Set([...isHeld, ...[...quiet.values()].flat()]);
  const { down, waiting } = await findObstacles(
    db,
    unsent.filter((row) => !isHeldOrQuiet.has(row)),
    { rule, now },
  );
  const isAside = new Set([...isHeldOrQuiet, ...down, ...[...waiting.values()].flat()]);
  const reachable = due.filter((row) => !isAside.has(row));
  const teams = new Set(await suspendedAmong(db, [...new Set(reachable.map((row) => row.team_id))]));
  const isSuspended = (row: DeliveryRow): boolean => teams.has(row.team_id) && row.handed_off_at === null;
  const free = await withRecipients(
    db,
    reachable.filter((row) => !isSuspended(row)),
  );
  return { free, held, down, waiting, quiet, suspended: reachable.filter(isSuspended) };
}

/** Finds the marketing mail that waits for quiet hours, by the time at which they end. */
async function findQuiet(db: Executor, rows: readonly DeliveryRow[], now: number): Promise<Map<number, DeliveryRow[]>> {
  const found = new Map<number, DeliveryRow[]>();
  const quiet = await findQuietTimes(db, rows, now);
  for (const row of rows) {
    const until = quiet.get(row.email_id)?.until;
    if (until !== undefined) found.set(until, [...(found.get(until) ?? []), row]);
  }
  return found;
}

/** Finds the emails among these deliveries that wait for quiet hours now. Only marketing mail to contacts does. */
export async function findQuietTimes(
  db: Executor,
  rows: readonly (QuietDelivery & Pick<DeliveryRow, 'is_marketing'>)[],
  now: number,
): Promise<Map<string, QuietTime>> {
  const toContacts = rows.filter((row) => row.is_marketing === 1 && row.contact_id !== null);
  return toContacts.length === 0 ? new Map() : findQuietMail.call(db, toContacts, now);
}

async function findObstacles(
  db: Executor,
  rows: DeliveryRow[],
  { rule, now }: { rule: ObstacleRule | undefined; now: number },
): Promise<Pick<Ruling, 'down' | 'waiting'>> {
  const down: DeliveryRow[] = [];
  const waiting = new Map<number, DeliveryRow[]>();
  if (rule === undefined) return { down, waiting };
  const domainIds = rule.dependsOnSender ? [...new Set(rows.map((row) => row.domain_id))] : [];
  const names = domainIds.length === 0 ? [] : await sendingNames(db, domainIds);
  const namesById = new Map(names.map(({ id, name }) => [id, name]));
  for (const row of rows) {
    const obstacle = rule.findObstacle(row, namesById.get(row.domain_id));
    if (obstacle?.kind === 'down') down.push(row);
    if (obstacle?.kind !== 'suspended') continue;
    // Mail that is too old is not put aside, so that its delivery ends.
    const until = Math.min(obstacle.untilMs, row.accepted_at + rule.giveUpMs);
    if (until <= now) continue;
    const rowsUntil = waiting.get(until);
    if (rowsUntil) rowsUntil.push(row);
    else waiting.set(until, [row]);
  }
  return { down, waiting };
}

/** Undoes the claims of deliveries that may not begin, and records what they wait for. */
export async function putAside(
  tx: Executor,
  owner: string,
  { held, down, waiting, quiet, suspended }: Ruling,
  now: number,
): Promise<void> {
  for (const [holdId, rows] of held) await holdClaims(tx, owner, toIds(rows), { holdId, now });
  // An attempt at a destination that is down costs as much as a delivery.
  if (down.length > 0) await moveToRetrying(tx, owner, toIds(down), now);
  for (const [until, rows] of waiting) await postponeClaims(tx, owner, toIds(rows), until);
  for (const [until, rows] of quiet) await postponeQuiet(tx, owner, toIds(rows), until);
  if (suspended.length === 0) return;
  // An id that is ahead of the clock belongs to recent mail.
  const ageMs = Math.min(...suspended.map((row) => now - timeOfId(row.id)));
  const deferMs = Math.min(DEFER_MS_MAX, Math.max(DEFER_MS_MIN, ageMs / 2));
  await deferClaims(tx, owner, toIds(suspended), { now, until: Math.round(now + deferMs) });
}

/**
 * Bounds of the time for which the mail of a suspended team is deferred: longer the older it is, so that the backlog of
 * a team that stays suspended is not rewritten all day.
 */
const DEFER_MS_MIN = 5 * 60_000;
const DEFER_MS_MAX = 3_600_000;

const toIds = (rows: readonly DeliveryRow[]): string[] => rows.map(({ id }) => id);

async function heldAmong(db: Executor, rows: readonly DeliveryRow[]): Promise<Map<string, DeliveryRow[]>> {
  const byHold = new Map<string, DeliveryRow[]>();
  if (rows.length === 0) return byHold;
  const holds = await holdsOnMail(db, [...new Set(rows.flatMap((row) => row.broadcast_id ?? []))]);
  if (holds.length === 0) return byHold;
  const holdOn = new Map(holds.map(({ id, kind, value }) => [`${kind} ${value}`, id]));
  for (const row of rows) {
    const holdId =
      holdOn.get(`destination ${row.destination}`) ??
      holdOn.get(`team_id ${row.team_id}`) ??
      holdOn.get(`email_id ${row.email_id}`) ??
      holdOn.get(`broadcast_id ${row.broadcast_id}`);
    if (holdId !== undefined) byHold.set(holdId, [...(byHold.get(holdId) ?? []), row]);
  }
  return byHold;
}

/**
 * Finds the remaining recipients and the suppressed ones. A delivery that was handed off is over, with an unknown
 * outcome.
 */
async function withRecipients(db: Executor, rows: readonly DeliveryRow[]): Promise<ClaimedDelivery[]> {
  if (rows.length === 0) return [];
  const addressed = rows.map((row) => ({ row, addresses: JSON.parse(row.recipients) as string[] }));
  const suppressed = await suppressedAmong(db, addressed);
  const toContacts = rows.filter((row) => row.contact_id !== null);
  const left = toContacts.length === 0 ? new Set<string>() : await findEmailsOfOptedOut.call(db, toContacts);
  return addressed.map(({ row, addresses }): ClaimedDelivery => {
    if (row.handed_off_at !== null) {
      const reason = 'ambiguous_submission';
      return { row, recipients: [], decided: addresses.map((address) => ({ kind: 'failed', address, reason })) };
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
}

const toKey = (teamId: string, address: string): string => `${teamId} ${normalizeAddress(address)}`;

/**
 * Finds why each recipient is suppressed, if at all. Suppressions that members of a team add by hand do not apply to
 * mail about an account: the team lends it a domain, and decides nothing about it.
 */
async function suppressedAmong(
  db: Executor,
  claimed: { row: DeliveryRow; addresses: string[] }[],
): Promise<(row: DeliveryRow, address: string) => 'bounce' | 'complaint' | 'manual' | undefined> {
  const wanted = claimed.flatMap(({ row, addresses }) =>
    addresses.map((address) => [row.team_id, normalizeAddress(address)] as const),
  );
  const found = await suppressionsAmong(db, wanted);
  const origins = new Map(found.map((entry) => [`${entry.team_id} ${entry.email_key}`, entry.origin]));
  const byHand = claimed.filter(({ row, addresses }) =>
    addresses.some((address) => origins.get(toKey(row.team_id, address)) === 'manual'),
  );
  const ofAccounts = await accountMailAmong(db, [...new Set(byHand.map(({ row }) => row.email_id))]);
  return (row, address) => {
    const origin = origins.get(toKey(row.team_id, address));
    return origin === 'manual' && ofAccounts.has(row.email_id) ? undefined : origin;
  };
}

/** The outcome of a delivery for one recipient: the reply of the mail server, or the reason why none was contacted. */
export type Outcome =
  | Exclude<RecipientOutcome, { kind: 'suppressed' }>
  /** `origin` is the reason why the address is suppressed, or that its contact left; the simulator's has none. */
  | { kind: 'suppressed'; address: string; origin?: 'bounce' | 'complaint' | 'manual' | 'opt_out' }
  | {
      kind: 'failed';
      address: string;
      reason: 'ambiguous_submission' | 'domain_removed' | 'broadcast_canceled';
    }
  /** `detail`: the operator's reason. */
  | { kind: 'failed'; address: string; reason: 'dropped_by_operator'; detail: string }
  /** A local error prevented composing the message or handing it over; the log has the details. */
  | LocalDeferral<'local_trouble'>
  /** Stored content differs from what was accepted; the message waits until the content is repaired. */
  | LocalDeferral<'content_damaged'>
  /** The domain lost its key or its records: a message signed now would be refused, so it waits for them. */
  | LocalDeferral<'domain_unverified'>;

interface LocalDeferral<Reason extends string> {
  kind: 'deferred';
  address: string;
  reason: Reason;
  detail: string;
  reply?: never;
  cause?: never;
  retryAfterMs?: never;
  waitMs?: never;
}

/**
 * Finds the emails among these deliveries that were sent to a contact which has left since they were accepted:
 * unsubscribed, opted out of the topic, or deleted. A queue may be hours deep, and a contact that has left gets no more
 * mail.
 */
export const findEmailsOfOptedOut =
  defineHook<(tx: Executor, rows: readonly DeliveryToContact[]) => Promise<Set<string>>>('findEmailsOfOptedOut');

export type DeliveryToContact = Pick<DeliveryRow, 'email_id' | 'contact_id'>;

/** Quiet hours that a contact has now for the topic of a mail. */
export interface QuietTime {
  until: number;
  /** Shown to the team and to operators. */
  reason: string;
}

export type QuietDelivery = Pick<DeliveryRow, 'email_id' | 'team_id' | 'contact_id'>;

/** Finds the emails among these deliveries of marketing mail that wait for quiet hours, with the time when these end. */
export const findQuietMail =
  defineHook<(db: Executor, rows: readonly QuietDelivery[], now: number) => Promise<Map<string, QuietTime>>>(
    'findQuietMail',
  );
