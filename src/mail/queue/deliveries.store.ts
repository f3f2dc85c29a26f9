import { textsIn, uuidsIn, type Executor, type Value } from '../../platform/db/index.ts';
import type { EventEmail } from '../emails/index.ts';
import type { AtLimit } from './in-flight.ts';
import { isBulk, laneNumber, LANES, laneSql, type Lane, type LaneName } from './lanes.ts';

/** One email's recipients at one destination. `recipients` is a JSON list of the addresses that have no outcome yet. */
export interface DeliveryRow {
  id: string;
  email_id: string;
  team_id: string;
  domain_id: string;
  destination: string;
  recipients: string;
  region: string;
  tls: 'opportunistic' | 'enforced';
  tls_verify: number;
  /** Attempts that ended; while claimed, the one under way included. */
  attempt: number;
  /** Time at which it was first due: two days of retries are counted from here. */
  accepted_at: number;
  /** Time from which it may be claimed: that of its next attempt, or the end of the lease, or the end of the doubt. */
  due_at: number;
  /** 1 while the delivery waits for `due_at`; 0 if its first attempt is due regardless of the clock. */
  waits: 0 | 1;
  lease_owner: string | null;
  /** Set while a final dot may have been written whose reply is not known: such a row is never delivered again. */
  handed_off_at: number | null;
  /** Options that the submitting client gave by SMTP extensions, as JSON; null if there were none. */
  asked: string | null;
  lane: Lane;
  /** Decides by which source it leaves, and which limits and rates it counts towards. */
  is_marketing: number;
  broadcast_id: string | null;
  /** The contact that a broadcast or an automation wrote it for; null for all other mail. */
  contact_id: string | null;
  /** The request id of its email, for log lines. */
  request_id: string | null;
  /** The source that its last attempt left by. */
  source: string | null;
  /** The pool that its broadcast chose. */
  pool: string | null;
}

/** Returns the email of a delivery with the fields that its events contain. */
export const toEventEmail = (row: DeliveryRow): EventEmail => ({
  id: row.email_id,
  team_id: row.team_id,
  domain_id: row.domain_id,
  broadcast_id: row.broadcast_id,
  contact_id: row.contact_id,
  is_bulk: isBulk(row.lane) ? 1 : 0,
});

const COLUMNS = [
  'id',
  'email_id',
  'team_id',
  'domain_id',
  'destination',
  'recipients',
  'region',
  'tls',
  'tls_verify',
  'attempt',
  'accepted_at',
  'due_at',
  'waits',
  'lease_owner',
  'handed_off_at',
  'asked',
  'lane',
  'is_marketing',
  'broadcast_id',
  'contact_id',
  'request_id',
  'source',
  'pool',
] as const;

/** Lists the deliveries of an email that are still to be made, or in doubt. */
export const listEmailDeliveries = (
  db: Executor,
  emailId: string,
): Promise<(DeliveryRow & { awaits_domain: number; hold_id: string | null })[]> =>
  db.all('select * from deliveries where email_id = ? order by id', [emailId]);

export async function insertDeliveries(tx: Executor, rows: readonly DeliveryRow[]): Promise<void> {
  await tx.insertMany(
    'deliveries',
    COLUMNS,
    rows.map((row) => COLUMNS.map((column) => row[column])),
  );
}

/**
 * Counts the deliveries of a broadcast that were not tried yet, up to `max`, without those that an operator holds or that
 * wait for quiet hours.
 */
export async function waitingOfBroadcast(db: Executor, broadcastId: string, max: number): Promise<number> {
  const sql = `select count(*) as n from (select 1 from deliveries
    where broadcast_id = ? and attempt = 0 and hold_id is null and is_quiet = 0 limit ?) as waiting`;
  return Number((await db.get<{ n: number }>(sql, [broadcastId, max]))?.n ?? 0);
}

/**
 * Lists the broadcasts that have mail in the queue. The query jumps from one to the next in the index and reads no rows
 * between.
 */
export async function broadcastsInQueue(db: Executor): Promise<string[]> {
  const rows = await db.all<{ id: string }>(
    `with recursive broadcast(id) as (
      select * from (select broadcast_id from deliveries where broadcast_id is not null order by broadcast_id limit 1) as first
      union all
      select (select broadcast_id from deliveries where broadcast_id is not null and broadcast_id > broadcast.id
          order by broadcast_id limit 1)
        from broadcast where broadcast.id is not null)
    select id from broadcast where id is not null`,
  );
  return rows.map(({ id }) => id);
}

/** Lists some deliveries of a broadcast that are neither claimed nor in doubt. */
export async function untouchedOfBroadcast(db: Executor, broadcastId: string, limit: number): Promise<string[]> {
  const sql = `select id from deliveries where broadcast_id = ? and lease_owner is null and handed_off_at is null limit ?`;
  return (await db.all<{ id: string }>(sql, [broadcastId, limit])).map(({ id }) => id);
}

/** The work of a claim: the mail of one lane, so that however much another lane has, no other mail waits for it. */
export interface DueWork {
  lane: Lane;
  now: number;
  limit: number;
  /**
   * Only these teams, at most `perTeam` of each, and nothing for those at their limit; without it, the oldest due. Of each team, at
   * most `scanMax` due deliveries are looked at.
   */
  share?: {
    teams: readonly string[];
    perTeam: number;
    atLimit: AtLimit | undefined;
    scanMax?: number | undefined;
  };
}

const inLane = (lane: Lane): string => `lease_owner is null and hold_id is null and lane = ${lane}`;

/**
 * Claims due rows for `owner`, oldest due first; a claim not settled by `leaseUntil` is offered to others. What `owner`
 * holds already is never offered to it again, even past its lease. An expired claim of another owner is taken over as the
 * same attempt. On PostgreSQL, nodes skip rows that another node is claiming instead of waiting for them.
 */
export async function claimDue(
  tx: Executor,
  claim: DueWork & { owner: string; leaseUntil: number },
): Promise<DeliveryRow[]> {
  const { sql, values } = claim.share ? sharedOut(tx, claim, claim.share) : dueFirst(tx, claim);
  const expired = `select id from deliveries where lease_owner is not null and lease_owner <> ? and due_at <= ?
      order by due_at limit ? ${skipLocked(tx)}`;
  return tx.all<DeliveryRow>(
    `update deliveries set lease_owner = ?, due_at = ?, is_throttled = 0,
      attempt = attempt + case when lease_owner is null then 1 else 0 end
    where id in (select id from (${expired}) as expired union all ${sql} limit ?) returning *`,
    [claim.owner, claim.leaseUntil, claim.owner, claim.now, claim.limit, ...values, claim.limit],
  );
}

type Part = { sql: string; values: Value[] };

const skipLocked = ({ dialect }: Executor): string => (dialect === 'pg' ? 'for update skip locked' : '');

/**
 * Selects first attempts of unscheduled mail, and deliveries whose time has come. Each is a range of the indexes. First
 * attempts may have any time, because the clock was set back or belongs to another node; rows of a version without
 * `waits` may include retries.
 */
const DUE_WHENEVER = 'waits = 0 and (attempt = 0 or due_at <= ?)';
const DUE_BY_NOW = 'waits = 1 and due_at <= ?';

/** Selects the oldest deliveries of both kinds within `where`, at most `max`, that are `free`. */
function oldestDue(
  tx: Executor,
  where: string,
  { now, free, max, scanMax }: { now: number; free?: Part | undefined; max: number; scanMax?: number | undefined },
): Part {
  const among = free?.sql ?? 'true';
  const lock = skipLocked(tx);
  const ofKind = (due: string): Part =>
    free === undefined || scanMax === undefined
      ? {
          sql: `select id, due_at from (select id, due_at from deliveries
            where ${where} and ${among} and ${due} order by due_at limit ? ${lock})`,
          values: [...(free?.values ?? []), now, max],
        }
      : {
          sql: `select id, due_at from (select id, due_at from deliveries where id in (
            select id from (select id, due_at, team_id, destination from deliveries
              where ${where} and ${due} order by due_at limit ?) as near where ${among} order by due_at limit ?) ${lock})`,
          values: [now, scanMax, ...free.values, max],
        };
  const whenever = ofKind(DUE_WHENEVER);
  const byNow = ofKind(DUE_BY_NOW);
  const sql = `select id from (${whenever.sql} as at_once union all ${byNow.sql} as in_time) as oldest
      order by due_at limit ?`;
  return { sql, values: [...whenever.values, ...byNow.values, max] };
}

function dueFirst(tx: Executor, { lane, now, limit }: DueWork): Part {
  const { sql, values } = oldestDue(tx, inLane(lane), { now, max: limit });
  return { sql: `select id from (${sql}) as oldest_due`, values };
}

/** Reads the index by team, so that the backlog of other teams makes no difference. */
function sharedOut(tx: Executor, work: DueWork, share: NonNullable<DueWork['share']>): Part {
  const { teams, perTeam, atLimit, scanMax } = share;
  const isPg = tx.dialect === 'pg';
  const busy = atLimit && [
    textsIn(tx.dialect, 'destination', atLimit.destinations),
    textsIn(tx.dialect, `${isPg ? 'team_id::text' : 'team_id'} || ' ' || destination`, atLimit.pairs),
  ];
  const due = oldestDue(tx, `${inLane(work.lane)} and team_id = ${isPg ? 'team.id' : 'team.value'}`, {
    now: work.now,
    free: busy && {
      sql: `not (${busy.map(({ sql }) => sql).join(' or ')})`,
      values: busy.map(({ value }) => value),
    },
    max: perTeam,
    scanMax,
  });
  const sql = isPg
    ? `select due.id from unnest(?::uuid[]) as team(id) cross join lateral (${due.sql}) as due`
    : `select due.id from json_each(?) as team cross join deliveries as due on due.id in (${due.sql})`;
  const among = isPg ? `{${teams.join(',')}}` : JSON.stringify(teams);
  return { sql, values: [among, ...due.values] };
}

/**
 * Lists the teams that have something due. The query jumps from team to team in the index and reads no rows between.
 */
export async function teamsWithDue(db: Executor, work: Pick<DueWork, 'lane' | 'now'>): Promise<string[]> {
  const lane = inLane(work.lane);
  // The order keeps planners from scanning the table.
  const selectFirst = (due: string): string =>
    `(select due_at from deliveries where ${lane} and team_id = team.id and ${due} order by due_at limit 1)`;
  const rows = await db.all<{ id: string }>(
    `with recursive team(id) as (
      select * from (select team_id from deliveries where ${lane} order by team_id limit 1) as first
      union all
      select (select team_id from deliveries where ${lane} and team_id > team.id order by team_id limit 1)
        from team where team.id is not null)
    select id from team
      where id is not null and (${selectFirst(DUE_WHENEVER)} is not null or ${selectFirst(DUE_BY_NOW)} is not null)`,
    [work.now, work.now],
  );
  return rows.map((row) => row.id);
}

/**
 * Returns, for each lane in order, when the next delivery that `owner` may claim falls due; Infinity if there is none.
 */
export async function nextDueAt(db: Executor, owner: string, now: number): Promise<number[]> {
  const first = (lane: Lane, waits: 0 | 1): string =>
    `(select ${waits === 0 ? 'case when attempt = 0 and due_at > ? then ? else due_at end' : 'due_at'}
      from deliveries where ${inLane(lane)} and waits = ${waits} order by deliveries.due_at limit 1)`;
  const ofLane = (name: LaneName): string =>
    `${first(laneNumber(name), 0)} as ${name}_at_once, ${first(laneNumber(name), 1)} as ${name}`;
  const row = await db.get<Record<LaneName | `${LaneName}_at_once` | 'expires', number | null>>(
    `select ${LANES.map(ofLane).join(', ')},
      (select due_at from deliveries where lease_owner is not null and lease_owner <> ? order by due_at limit 1) as expires`,
    [...LANES.flatMap(() => [now, now]), owner],
  );
  // An expired lease is taken over by the claim of any lane, and each pass begins with the first.
  return LANES.map((name, lane) =>
    Math.min(
      row?.[name] ?? Infinity,
      row?.[`${name}_at_once`] ?? Infinity,
      lane === 0 ? (row?.expires ?? Infinity) : Infinity,
    ),
  );
}

/** Undoes claims, and moves them to the lane of retries, since their destination is known to be down. */
export async function moveToRetrying(tx: Executor, owner: string, ids: readonly string[], now: number): Promise<void> {
  const among = uuidsIn(tx.dialect, 'id', ids);
  const sql = `update deliveries set lane = ${laneSql('retrying')}, lease_owner = null, due_at = ?, attempt = attempt - 1
    where ${among.sql} and lease_owner = ?`;
  await tx.run(sql, [now, among.value, owner]);
}

/** Undoes claims: the deliveries are due at `until`, and the time that is left for retries goes on. */
export async function postponeClaims(
  tx: Executor,
  owner: string,
  ids: readonly string[],
  until: number,
): Promise<void> {
  const among = uuidsIn(tx.dialect, 'id', ids);
  const sql = `update deliveries set lease_owner = null, due_at = ?, waits = 1, is_throttled = 1, attempt = attempt - 1
    where ${among.sql} and lease_owner = ?`;
  await tx.run(sql, [until, among.value, owner]);
}

/** Undoes claims until the quiet hours of the contacts end. */
export async function postponeQuiet(tx: Executor, owner: string, ids: readonly string[], until: number): Promise<void> {
  const among = uuidsIn(tx.dialect, 'id', ids);
  const sql = `update deliveries set lease_owner = null, due_at = ?, waits = 1, is_quiet = 1, attempt = attempt - 1
    where ${among.sql} and lease_owner = ?`;
  await tx.run(sql, [until, among.value, owner]);
}

/**
 * Renews by id, because the backlog may be long. A handed-off delivery needs no lease: its `due_at` is the end of the
 * doubt.
 */
export function renewLeases(db: Executor, owner: string, ids: string[], leaseUntil: number): Promise<number> {
  const among = uuidsIn(db.dialect, 'id', ids);
  const sql = `update deliveries set due_at = ? where ${among.sql} and lease_owner = ? and handed_off_at is null`;
  return db.run(sql, [leaseUntil, among.value, owner]);
}

/**
 * One claim of a delivery. The attempt is part of the key: a late write about an attempt that is over, from a commit
 * whose result was lost, must not touch the next attempt.
 */
export type ClaimKey = Pick<DeliveryRow, 'id' | 'attempt'>;

/**
 * Runs a statement once for each attempt number among the claims, of which there is mostly one. Returns the ids it
 * touched.
 */
async function perAttempt(
  claims: readonly ClaimKey[],
  run: (attempt: number, ids: string[]) => Promise<{ id: string }[]>,
): Promise<Set<string>> {
  const touched = new Set<string>();
  for (const [attempt, group] of Map.groupBy(claims, (claim) => claim.attempt)) {
    const rows = await run(
      attempt,
      group.map((claim) => claim.id),
    );
    for (const row of rows) touched.add(row.id);
  }
  return touched;
}

/**
 * Writes the hand-off ledger: from here on a row is only ever settled, or failed at `doubtUntil`. Returns the ids that
 * `owner` still holds, which are the only ones that may be handed off.
 */
export async function recordHandOffs(
  tx: Executor,
  owner: string,
  claims: readonly ClaimKey[],
  at: { now: number; doubtUntil: number },
): Promise<Set<string>> {
  return perAttempt(claims, (attempt, ids) => {
    const among = uuidsIn(tx.dialect, 'id', ids);
    const sql = `update deliveries set handed_off_at = ?, due_at = ?
      where ${among.sql} and attempt = ? and lease_owner = ? returning id`;
    return tx.all(sql, [at.now, at.doubtUntil, among.value, attempt, owner]);
  });
}

/**
 * Removes ended deliveries; returns the ids that `owner` still held. A second call for the same claim removes nothing.
 */
export function removeClaimed(tx: Executor, owner: string, claims: readonly ClaimKey[]): Promise<Set<string>> {
  return perAttempt(claims, (attempt, ids) => {
    const among = uuidsIn(tx.dialect, 'id', ids);
    const sql = `delete from deliveries where ${among.sql} and attempt = ? and lease_owner = ? returning id`;
    return tx.all(sql, [among.value, attempt, owner]);
  });
}

/** Returns a claimed row to the queue, to be offered at `due_at`; returns false if `owner` did not hold it any more. */
export async function reschedule(
  tx: Executor,
  owner: string,
  claim: ClaimKey,
  next: Pick<DeliveryRow, 'attempt' | 'due_at' | 'handed_off_at'> & {
    recipients: readonly string[];
    /** The next attempt waits until the domain is verified again. */
    awaitsDomain?: boolean;
    /** The destination failed, so that the next attempt is in the lane of retries. */
    isFailing?: boolean;
    /** It waits because its destination limits us. */
    isThrottled?: boolean;
    /** The source that the attempt left by. */
    source?: string | undefined;
  },
): Promise<boolean> {
  const {
    recipients,
    attempt,
    due_at: dueAt,
    handed_off_at: handedOffAt,
    awaitsDomain = false,
    isFailing = false,
    isThrottled = false,
    source = null,
  } = next;
  const sql = `update deliveries set recipients = ?, attempt = ?, due_at = ?, waits = 1, handed_off_at = ?, awaits_domain = ?,
      is_throttled = ?, source = coalesce(?, source), lane = ${laneSql(isFailing ? 'retrying' : 'usual')}, lease_owner = null where id = ? and attempt = ? and lease_owner = ?`;
  const set = [
    JSON.stringify(recipients),
    attempt,
    dueAt,
    handedOffAt,
    awaitsDomain ? 1 : 0,
    isThrottled ? 1 : 0,
    source,
  ];
  const values = [...set, claim.id, claim.attempt, owner];
  return (await tx.run(sql, values)) === 1;
}

/** Makes deliveries due that wait for a domain that is verified again or deleted; returns how many there are. */
export const releaseDeferred = (db: Executor, now: number): Promise<number> =>
  db.run(
    `update deliveries set due_at = ?, awaits_domain = 0
      where awaits_domain = 1 and due_at > ? and lease_owner is null and hold_id is null and handed_off_at is null
        and not exists (select 1 from domains d where d.id = deliveries.domain_id and d.verified_at is null)`,
    [now, now],
  );

/** Undoes claims: the deliveries are due at once, as if they had not been claimed. */
export async function unclaim(tx: Executor, owner: string, ids: readonly string[], now: number): Promise<void> {
  const among = uuidsIn(tx.dialect, 'id', ids);
  const sql = `update deliveries set lease_owner = null, due_at = ?, attempt = attempt - 1
    where ${among.sql} and lease_owner = ?`;
  await tx.run(sql, [now, among.value, owner]);
}

/** Undoes claims: the deliveries are due at `until`, with as much time left for retries as before. */
export async function deferClaims(
  tx: Executor,
  owner: string,
  ids: readonly string[],
  { now, until }: { now: number; until: number },
): Promise<void> {
  const among = uuidsIn(tx.dialect, 'id', ids);
  const sql = `update deliveries set lease_owner = null, due_at = ?, waits = 1, attempt = attempt - 1,
      accepted_at = case when attempt = 1 then ? else accepted_at + ? end
    where ${among.sql} and lease_owner = ?`;
  await tx.run(sql, [until, until, until - now, among.value, owner]);
}

/** Undoes the claims of `owner` except `ids` and those that were handed off; returns how many. */
export function unclaimAllBut(tx: Executor, owner: string, ids: readonly string[], now: number): Promise<number> {
  const carried = uuidsIn(tx.dialect, 'id', ids);
  const sql = `update deliveries set lease_owner = null, due_at = ?, attempt = attempt - 1
    where lease_owner = ? and handed_off_at is null and not (${carried.sql})`;
  return tx.run(sql, [now, owner, carried.value]);
}

/** Undoes the claims of `owner` that were not handed off; returns how many. */
export function unclaimUnsent(tx: Executor, owner: string, now: number): Promise<number> {
  const sql = `update deliveries set lease_owner = null, due_at = ?, attempt = attempt - 1
    where lease_owner = ? and handed_off_at is null`;
  return tx.run(sql, [now, owner]);
}

export const handedOffBy = (tx: Executor, owner: string): Promise<DeliveryRow[]> =>
  tx.all<DeliveryRow>('select * from deliveries where lease_owner = ? and handed_off_at is not null', [owner]);

export async function leaseOwners(db: Executor): Promise<string[]> {
  const rows = await db.all<{ lease_owner: string }>(
    'select distinct lease_owner from deliveries where lease_owner is not null',
  );
  return rows.map((row) => row.lease_owner);
}

/** Deliveries of an email that were never claimed. The statement waits for a claim that is being committed. */
const UNCLAIMED = 'email_id = ? and attempt = 0 and lease_owner is null';

export const removeUnclaimed = (tx: Executor, emailId: string): Promise<number> =>
  tx.run(`delete from deliveries where ${UNCLAIMED}`, [emailId]);

export async function hasDeliveries(tx: Executor, emailId: string): Promise<boolean> {
  return (await tx.get('select 1 as one from deliveries where email_id = ? limit 1', [emailId])) !== undefined;
}

/** Reschedules the unclaimed deliveries of an email; returns how many moved, and how many were claimed already. */
export async function moveUnclaimed(
  tx: Executor,
  emailId: string,
  dueAt: number,
): Promise<{ moved: number; claimed: number }> {
  const sql = `update deliveries set due_at = ?, waits = 1, is_throttled = 0, accepted_at = ?, lane = ${laneSql('usual')},
      hold_id = null where ${UNCLAIMED}`;
  const moved = await tx.run(sql, [dueAt, dueAt, emailId]);
  const all = await tx.get<{ n: number }>('select count(*) as n from deliveries where email_id = ?', [emailId]);
  return { moved, claimed: (all?.n ?? 0) - moved };
}

/**
 * Removes recipients from deliveries in doubt, because a report states their outcome; a delivery without recipients is
 * removed. A delivery that is claimed at that moment is about to be failed, and is left alone.
 */
export async function endDoubt(tx: Executor, emailId: string, addresses: ReadonlySet<string>): Promise<void> {
  const held = tx.dialect === 'pg' ? 'for update' : '';
  const sql = `select * from deliveries where email_id = ? and handed_off_at is not null and lease_owner is null ${held}`;
  for (const row of await tx.all<DeliveryRow>(sql, [emailId])) {
    const recipients = JSON.parse(row.recipients) as string[];
    const left = recipients.filter((address) => !addresses.has(address));
    if (left.length === recipients.length) continue;
    if (left.length === 0) await tx.run('delete from deliveries where id = ?', [row.id]);
    else await tx.run('update deliveries set recipients = ? where id = ?', [JSON.stringify(left), row.id]);
  }
}
