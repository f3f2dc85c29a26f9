import { nextTurn } from '../../platform/clock.ts';
import {
  endOfUuid,
  uuidsIn,
  cutPage,
  pageSql,
  pageValues,
  type Db,
  type Dialect,
  type Executor,
  type Page,
  type Value,
} from '../../platform/db/index.ts';
import type { DeliveryRow } from './deliveries.store.ts';
import { laneSql } from './lanes.ts';

/**
 * The number of rows in a batch. The operator's view of the queue has no index, because every delivery would pay for
 * it: the table is read by its key, in batches of a few milliseconds with a turn of the event loop in between.
 */
const BATCH_ROWS = 5000;
const FIRST = '00000000-0000-0000-0000-000000000000';
const LAST = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

export const QUEUE_STATES = [
  'waiting',
  'scheduled',
  'retrying',
  'awaits_domain',
  'held',
  'team_suspended',
  'under_way',
  'in_doubt',
] as const;
export type QueueState = (typeof QUEUE_STATES)[number];

export type WaitingRow = DeliveryRow & { hold_id: string | null; state: QueueState };

/** The time for which states are computed, and the teams that are suspended then. */
interface Moment {
  now: number;
  suspendedTeams: readonly string[];
}

function stateAt(dialect: Dialect, { now, suspendedTeams }: Moment): { sql: string; values: Value[] } {
  const isSuspended = uuidsIn(dialect, 'team_id', suspendedTeams);
  const sql = `case when handed_off_at is not null then 'in_doubt' when lease_owner is not null then 'under_way'
    when hold_id is not null then 'held' when ${isSuspended.sql} then 'team_suspended'
    when awaits_domain = 1 then 'awaits_domain' when attempt > 0 then 'retrying'
    when waits = 1 and is_throttled = 0 and due_at > ? then 'scheduled'
    else 'waiting' end`;
  return { sql, values: [isSuspended.value, now] };
}

/** Neither claimed nor in doubt. */
const UNTOUCHED = 'lease_owner is null and handed_off_at is null';

interface Batch {
  after: string;
  upTo: string;
}

async function* batches(db: Executor, order: 'asc' | 'desc', within: Batch): AsyncGenerator<Batch> {
  let { after, upTo } = within;
  for (;;) {
    const sql = `select id from deliveries where id > ? and id <= ? order by id ${order} limit 1 offset ?`;
    const edge = await db.get<{ id: string }>(sql, [after, upTo, BATCH_ROWS - 1]);
    if (!edge) return yield { after, upTo };
    if (order === 'asc') {
      yield { after, upTo: edge.id };
      after = edge.id;
    } else {
      // The edge itself is part of the next batch.
      yield { after: edge.id, upTo };
      upTo = edge.id;
    }
    await nextTurn();
  }
}

/** Divides a selection into batches. The deliveries of one email are found by an index, so that they are one batch. */
const divideIntoBatches = (db: Executor, selection: Selection | 'all'): AsyncIterable<Batch> | Batch[] =>
  selection !== 'all' && selection.kind === 'email_id'
    ? [{ after: FIRST, upTo: LAST }]
    : batches(db, 'asc', { after: FIRST, upTo: LAST });

const IN_BATCH = 'id > ? and id <= ?';

const narrowTo = (selection: Selection | 'all'): { sql: string; values: string[] } =>
  selection === 'all' ? { sql: '', values: [] } : { sql: `and ${selection.kind} = ?`, values: [selection.value] };

export interface StateCount {
  destination: string;
  state: QueueState;
  count: number;
  oldest: number;
  next: number;
  /** The oldest email that has been tried; null if there is none. */
  tried_id: string | null;
}

/** Counts by destination and state, one list for each batch of the table: the caller adds them up. */
export async function* countStates(db: Executor, moment: Moment): AsyncGenerator<StateCount[]> {
  const state = stateAt(db.dialect, moment);
  for await (const { after, upTo } of batches(db, 'asc', { after: FIRST, upTo: LAST })) {
    yield await db.all<StateCount>(
      `select destination, state, count(*) as count, min(accepted_at) as oldest, min(due_at) as next,
          min(case when attempt > 0 then cast(id as text) end) as tried_id
        from (select id, destination, accepted_at, due_at, attempt, ${state.sql} as state from deliveries where ${IN_BATCH}) as d
        group by destination, state`,
      [...state.values, after, upTo],
    );
  }
}

export function queuedRows(db: Executor, ids: readonly string[]): Promise<DeliveryRow[]> {
  const among = uuidsIn(db.dialect, 'id', ids);
  return db.all<DeliveryRow>(`select * from deliveries where ${among.sql}`, [among.value]);
}

export interface WaitingFilter {
  destination?: string | undefined;
  team_id?: string | undefined;
  email_id?: string | undefined;
  state?: string | undefined;
  /** The last digits of the id of a delivery, or of its email. */
  id_end?: string | undefined;
}

/** Lists waiting deliveries, newest first. If few rows match, searches batch by batch. */
export async function waitingPage(
  db: Executor,
  { id_end: end, ...filter }: WaitingFilter,
  { page, ...moment }: Moment & { page: Page },
): Promise<{ rows: WaitingRow[]; hasMore: boolean }> {
  const named = Object.entries(filter).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const ending = end === undefined ? [] : Array.from({ length: 2 }, () => `%${endOfUuid(end)}`);
  const where = [
    ...named.map(([column]) => `and ${column} = ?`),
    ...(end === undefined ? [] : ['and (cast(id as text) like ? or cast(email_id as text) like ?)']),
  ].join(' ');
  const values: Value[] = [...named.map(([, value]) => value), ...ending];
  const order = page.before === undefined ? 'desc' : 'asc';
  const before = page.after === undefined ? '' : 'and id <> ?';
  const within = { after: page.before ?? FIRST, upTo: page.after ?? LAST };
  const state = stateAt(db.dialect, moment);
  const rows: WaitingRow[] = [];
  for await (const { after, upTo } of batches(db, order, within)) {
    const found = await db.all<WaitingRow>(
      `select * from (select deliveries.*, ${state.sql} as state from deliveries where ${IN_BATCH} ${before}) as d
        where 1 = 1 ${where} order by id ${order} limit ?`,
      [
        ...state.values,
        after,
        upTo,
        ...(page.after === undefined ? [] : [page.after]),
        ...values,
        page.limit + 1 - rows.length,
      ],
    );
    rows.push(...found);
    if (rows.length > page.limit) break;
  }
  const kept = rows.slice(0, page.limit);
  return { rows: order === 'asc' ? kept.reverse() : kept, hasMore: rows.length > page.limit };
}

/** The hold that keeps a delivery, or will when it is claimed; null if there is none. */
const HOLD = `coalesce(hold_id, (select queue_holds.id from queue_holds where
  (kind = 'destination' and value = destination) or (kind = 'team_id' and value = cast(team_id as text))
  or (kind = 'email_id' and value = cast(email_id as text)) order by queue_holds.id limit 1))`;

/** Makes deliveries due that wait for another attempt and are not held; returns how many there are. */
export async function retryNow(db: Executor, selection: Selection | 'all', now: number): Promise<number> {
  const selected = narrowTo(selection);
  const sql = `update deliveries set due_at = ?, lane = ${laneSql('usual')} where ${IN_BATCH} ${selected.sql}
    and ${UNTOUCHED} and ${HOLD} is null and attempt > 0 and due_at > ?`;
  let changed = 0;
  for await (const { after, upTo } of divideIntoBatches(db, selection)) {
    changed += await db.run(sql, [now, after, upTo, ...selected.values, now]);
  }
  return changed;
}

/** A provider, or mail servers without one; a relay may take the mail of every destination. */
export interface Receiver {
  provider: string;
  servers: string;
  isRelay: boolean;
  /** The sending domain whose mail is meant; empty: all mail. With a sending domain only, its mail to all receivers is meant. */
  senderDomain?: string;
}

const RELEASED_AT_ONCE = 500;

/** Makes deliveries due that wait for a limit of a receiver, or for any limit; returns how many there are. */
export async function releaseThrottled(db: Db, receiver: Receiver | 'all', now: number): Promise<number> {
  const { senderDomain = '' } = receiver === 'all' ? {} : receiver;
  const isEverywhere = receiver === 'all' || receiver.isRelay || (receiver.provider === '' && receiver.servers === '');
  const place = isEverywhere ? undefined : describePlace(receiver);
  const isThere =
    place === undefined ? '' : `and destination in (select name from recipient_domains where ${place.where})`;
  const isFrom = senderDomain === '' ? '' : 'and domain_id in (select id from domains where name = ?)';
  const lock = db.dialect === 'pg' ? 'for update skip locked' : '';
  const sql = `update deliveries set due_at = ?, is_throttled = 0 where id in (
    select id from deliveries where is_throttled = 1 and ${UNTOUCHED} and hold_id is null ${isThere} ${isFrom} limit ? ${lock})`;
  const values = [...(place === undefined ? [] : [place.value]), ...(senderDomain === '' ? [] : [senderDomain])];
  for (let released = 0; ;) {
    const some = await db.run(sql, [now, ...values, RELEASED_AT_ONCE]);
    released += some;
    if (some < RELEASED_AT_ONCE) return released;
    await nextTurn();
  }
}

const describePlace = ({ provider, servers }: Receiver): { where: string; value: string } =>
  provider === ''
    ? { where: `provider = '' and servers = ?`, value: servers }
    : { where: 'provider = ?', value: provider };

/**
 * Makes deliveries due that wait beyond `latest`, which no retry and no deferral does; scheduled mail gets its original
 * time again. Returns the number of deliveries.
 */
export async function bringBackDeliveries(
  db: Executor,
  { now, latest }: { now: number; latest: number },
): Promise<number> {
  const scheduledAt = '(select scheduled_at from emails where emails.id = deliveries.email_id)';
  const sql = `update deliveries set due_at = case when ${scheduledAt} > ? then ${scheduledAt} else ? end where ${IN_BATCH}
    and ${UNTOUCHED} and hold_id is null and due_at > ? and coalesce(${scheduledAt}, 0) <> due_at`;
  let changed = 0;
  for await (const { after, upTo } of batches(db, 'asc', { after: FIRST, upTo: LAST })) {
    changed += await db.run(sql, [now, now, after, upTo, latest]);
  }
  return changed;
}

/** Counts the deliveries of a selection that each hold keeps: those that have been tried, and those that it took. */
export async function heldIn(db: Executor, selection: Selection | 'all'): Promise<Map<string, number>> {
  const selected = narrowTo(selection);
  const sql = `select hold, count(*) as n from (select ${HOLD} as hold from deliveries where ${IN_BATCH}
    ${selected.sql} and ${UNTOUCHED} and (hold_id is not null or attempt > 0)) as d
    where hold is not null group by hold`;
  const held = new Map<string, number>();
  for await (const { after, upTo } of divideIntoBatches(db, selection)) {
    const found = await db.all<{ hold: string; n: number }>(sql, [after, upTo, ...selected.values]);
    for (const { hold, n } of found) held.set(hold, (held.get(hold) ?? 0) + n);
  }
  return held;
}

/** Yields the ids of deliveries that may be removed now, `few` at a time. */
export async function* untouchedIds(db: Executor, selection: Selection, few: number): AsyncGenerator<string[]> {
  const sql = `select id from deliveries where ${IN_BATCH} and ${selection.kind} = ? and ${UNTOUCHED}`;
  for await (const { after, upTo } of divideIntoBatches(db, selection)) {
    const found = (await db.all<{ id: string }>(sql, [after, upTo, selection.value])).map(({ id }) => id);
    for (let from = 0; from < found.length; from += few) yield found.slice(from, from + few);
  }
}

/** Removes and returns those that are still untouched. */
export function takeUntouched(tx: Executor, ids: readonly string[]): Promise<DeliveryRow[]> {
  const among = uuidsIn(tx.dialect, 'id', ids);
  return tx.all<DeliveryRow>(`delete from deliveries where ${among.sql} and ${UNTOUCHED} returning *`, [among.value]);
}

export async function countTouched(db: Executor, selection: Selection): Promise<number> {
  const sql = `select count(*) as n from deliveries where ${IN_BATCH} and ${selection.kind} = ? and not (${UNTOUCHED})`;
  let count = 0;
  for await (const { after, upTo } of divideIntoBatches(db, selection)) {
    count += (await db.get<{ n: number }>(sql, [after, upTo, selection.value]))?.n ?? 0;
  }
  return count;
}

/** Undoes claims that a hold covers, and marks them as held since `due_at`. */
export async function holdClaims(
  tx: Executor,
  owner: string,
  ids: readonly string[],
  { holdId, now }: { holdId: string; now: number },
): Promise<void> {
  const among = uuidsIn(tx.dialect, 'id', ids);
  const sql = `update deliveries set hold_id = ?, lease_owner = null, due_at = ?, attempt = attempt - 1
    where ${among.sql} and lease_owner = ?`;
  await tx.run(sql, [holdId, now, among.value, owner]);
}

/**
 * Makes up to `limit` held deliveries due, with as much time left for retries as before the hold; returns how many
 * there are.
 */
export function releaseHeld(tx: Executor, holdId: string, now: number, limit: number): Promise<number> {
  const sql = `update deliveries set hold_id = null, accepted_at = accepted_at + ? - due_at, due_at = ?
    where id in (select id from deliveries where hold_id = ? order by team_id, id limit ?)`;
  return tx.run(sql, [now, now, holdId, limit]);
}

/**
 * Lists the ids of holds that keep deliveries. The query jumps from hold to hold in the index and reads no rows
 * between.
 */
export async function holdsWithDeliveries(db: Executor): Promise<string[]> {
  const rows = await db.all<{ id: string }>(
    `with recursive hold(id) as (
      select * from (select hold_id from deliveries where hold_id is not null order by hold_id limit 1) as first
      union all
      select (select hold_id from deliveries where hold_id is not null and hold_id > hold.id order by hold_id limit 1)
        from hold where hold.id is not null)
    select id from hold where id is not null`,
  );
  return rows.map(({ id }) => id);
}

/** The columns by which an operator's command may select deliveries. */
export type SelectionKind = 'destination' | 'team_id' | 'email_id';

export interface Selection {
  kind: SelectionKind;
  value: string;
}

export interface HoldRow extends Selection {
  id: string;
  reason: string;
  created_by: string;
  created_at: number;
}

const COLUMNS = ['id', 'kind', 'value', 'reason', 'created_by', 'created_at'] as const;

/**
 * Locks the holds to the end of the transaction, so that one caller at a time counts and adds them; claims can still
 * read them.
 */
export async function lockHolds(tx: Executor): Promise<void> {
  if (tx.dialect === 'pg') await tx.run('lock table queue_holds in share row exclusive mode');
}

export async function insertHold(tx: Executor, row: HoldRow): Promise<void> {
  await tx.insertMany('queue_holds', COLUMNS, [COLUMNS.map((column) => row[column])]);
}

export const findHoldOn = (db: Executor, { kind, value }: Selection): Promise<HoldRow | undefined> =>
  db.get<HoldRow>('select * from queue_holds where kind = ? and value = ?', [kind, value]);

/** Lists holds, newest first. */
export function holdsById(db: Executor, ids: readonly string[], limit: number): Promise<HoldRow[]> {
  const among = uuidsIn(db.dialect, 'id', ids);
  return db.all<HoldRow>(`select * from queue_holds where ${among.sql} order by id desc limit ?`, [among.value, limit]);
}

/** Lists all holds; there are few, and every claim reads them. */
export const holdsInForce = (db: Executor): Promise<(Selection & { id: string; reason: string })[]> =>
  db.all('select id, kind, value, reason from queue_holds');

interface HoldOnMail extends Pick<HoldRow, 'id' | 'value' | 'reason'> {
  kind: SelectionKind | 'broadcast_id';
}

/** Reasons for a hold on a broadcast that also apply to its mail in the queue. */
export const COVER_MAIL = "('bounces', 'complaints', 'restored')";

/** Selects the broadcasts whose mail in the queue must not be delivered. */
export const HOLDS_MAIL = `(held_reason in ${COVER_MAIL} or paused_at is not null)`;

/** The reason why the mail of such a broadcast is not delivered. */
export const MAIL_HOLD_REASON = `case when held_reason in ${COVER_MAIL} then held_reason else 'paused' end`;

/**
 * Returns these holds and those of the given broadcasts that are on hold or paused themselves, in one statement. Such a
 * hold has the id of its broadcast.
 */
export function holdsOnMail(db: Executor, broadcastIds: readonly string[]): Promise<HoldOnMail[]> {
  if (broadcastIds.length === 0) return holdsInForce(db);
  const among = uuidsIn(db.dialect, 'id', broadcastIds);
  const sql = `select id, kind, value, reason from queue_holds
    union all select id, 'broadcast_id' as kind, cast(id as text) as value, ${MAIL_HOLD_REASON} as reason from broadcasts
      where ${among.sql} and ${HOLDS_MAIL}`;
  return db.all(sql, [among.value]);
}

/** Reports whether an operator holds all mail of a team. */
export const isTeamHeld = async (db: Executor, teamId: string): Promise<boolean> =>
  (await findHoldOn(db, { kind: 'team_id', value: teamId })) !== undefined;

export async function removeHold(tx: Executor, id: string): Promise<boolean> {
  return (await tx.run('delete from queue_holds where id = ?', [id])) === 1;
}

export async function holdPage(db: Executor, page: Page): Promise<{ rows: HoldRow[]; hasMore: boolean }> {
  return cutPage(await db.all<HoldRow>(pageSql('queue_holds', '1 = 1', page), pageValues(page)), page);
}
