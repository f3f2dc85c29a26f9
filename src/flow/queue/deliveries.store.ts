import { textsIn, uuidsIn, type Executor } from '../../platform/db/index.ts';

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
  /** Attempts that ended; while claimed, the one under way included. */
  attempt: number;
  /** When it was due for the first time: two days of retries are counted from here. */
  accepted_at: number;
  /** When it may be claimed: its next attempt, or the end of the lease, or the end of the doubt. */
  due_at: number;
  lease_owner: string | null;
  /** Set while a final dot may have been written whose reply nobody knows: such a row is never delivered again. */
  handed_off_at: number | null;
}

const COLUMNS = [
  'id',
  'email_id',
  'team_id',
  'domain_id',
  'destination',
  'recipients',
  'region',
  'tls',
  'attempt',
  'accepted_at',
  'due_at',
  'lease_owner',
  'handed_off_at',
] as const;

export async function insertDeliveries(tx: Executor, rows: readonly DeliveryRow[]): Promise<void> {
  await tx.insertMany(
    'deliveries',
    COLUMNS,
    rows.map((row) => COLUMNS.map((column) => row[column])),
  );
}

/**
 * Claims up to `limit` due rows for `owner`, oldest due first; a claim not settled by `leaseUntil` is offered to others.
 * What `owner` holds already is never offered to it again, however late it is. A claim taken over from somebody who is
 * gone goes on counting as the attempt it was. On PostgreSQL nodes skip each other's claims instead of waiting for them.
 */
export async function claimDue(
  tx: Executor,
  claim: { owner: string; now: number; leaseUntil: number; limit: number; exceptDestinations: string[] },
): Promise<DeliveryRow[]> {
  const busy = textsIn(tx.dialect, 'destination', claim.exceptDestinations);
  const notBusy = claim.exceptDestinations.length === 0 ? '' : `and not (${busy.sql})`;
  const skip = tx.dialect === 'pg' ? 'for update skip locked' : '';
  const sql = `update deliveries set lease_owner = ?, due_at = ?,
      attempt = attempt + case when lease_owner is null then 1 else 0 end
    where id in (select id from deliveries where due_at <= ? and ${NOT_HELD_BY} ${notBusy}
      order by due_at limit ? ${skip}) returning *`;
  const excepted = claim.exceptDestinations.length === 0 ? [] : [busy.value];
  return tx.all<DeliveryRow>(sql, [claim.owner, claim.leaseUntil, claim.now, claim.owner, ...excepted, claim.limit]);
}

const NOT_HELD_BY = '(lease_owner is null or lease_owner <> ?)';

/** When there is something for `owner` to claim, as far as is known now. */
export async function nextDueAt(db: Executor, owner: string): Promise<number | undefined> {
  const sql = `select due_at from deliveries where ${NOT_HELD_BY} order by due_at limit 1`;
  return (await db.get<{ due_at: number }>(sql, [owner]))?.due_at;
}

/** By id, because the backlog may be long. What has been handed off waits under a date of its own and needs no lease. */
export function renewLeases(db: Executor, owner: string, ids: string[], leaseUntil: number): Promise<number> {
  const among = uuidsIn(db.dialect, 'id', ids);
  const sql = `update deliveries set due_at = ? where ${among.sql} and lease_owner = ? and handed_off_at is null`;
  return db.run(sql, [leaseUntil, among.value, owner]);
}

/**
 * One claim of a delivery. The attempt is part of it: a late word about an attempt that is over, from a commit whose
 * answer was lost, must not be taken for a word about the next one.
 */
export type Claim = Pick<DeliveryRow, 'id' | 'attempt'>;

/** Runs a statement over the claims of each attempt; most batches have one. Answers the ids it touched. */
async function perAttempt(
  claims: readonly Claim[],
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
 * Writes the hand-off ledger: from here on a row is only ever settled, or failed at `doubtUntil`. Answers the ids that
 * are still this owner's, for only they may be handed off.
 */
export async function recordHandOffs(
  tx: Executor,
  owner: string,
  claims: readonly Claim[],
  at: { now: number; doubtUntil: number },
): Promise<Set<string>> {
  return perAttempt(claims, (attempt, ids) => {
    const among = uuidsIn(tx.dialect, 'id', ids);
    const sql = `update deliveries set handed_off_at = ?, due_at = ?
      where ${among.sql} and attempt = ? and lease_owner = ? returning id`;
    return tx.all(sql, [at.now, at.doubtUntil, among.value, attempt, owner]);
  });
}

/** Ends deliveries; answers those that `owner` still held. A claim ends once, whoever tries to end it again. */
export function endClaims(tx: Executor, owner: string, claims: readonly Claim[]): Promise<Set<string>> {
  return perAttempt(claims, (attempt, ids) => {
    const among = uuidsIn(tx.dialect, 'id', ids);
    const sql = `delete from deliveries where ${among.sql} and attempt = ? and lease_owner = ? returning id`;
    return tx.all(sql, [among.value, attempt, owner]);
  });
}

/** Gives a claimed row back to the queue, to be offered at `due_at`; answers whether `owner` still held it. */
export async function reschedule(
  tx: Executor,
  owner: string,
  claim: Claim,
  next: Pick<DeliveryRow, 'attempt' | 'due_at' | 'handed_off_at'> & {
    recipients: readonly string[];
    /** It is of no use to try before the domain is verified again. */
    awaitsDomain?: boolean;
  },
): Promise<boolean> {
  const sql = `update deliveries set recipients = ?, attempt = ?, due_at = ?, handed_off_at = ?, awaits_domain = ?,
      lease_owner = null where id = ? and attempt = ? and lease_owner = ?`;
  const { recipients, attempt, due_at: dueAt, handed_off_at: handedOffAt, awaitsDomain = false } = next;
  const set = [JSON.stringify(recipients), attempt, dueAt, handedOffAt, awaitsDomain ? 1 : 0];
  const values = [...set, claim.id, claim.attempt, owner];
  return (await tx.run(sql, values)) === 1;
}

/** Makes due what waits for a domain that is verified again or gone; answers how much that is. */
export const releaseHeld = (db: Executor, now: number): Promise<number> =>
  db.run(
    `update deliveries set due_at = ?, awaits_domain = 0
      where awaits_domain = 1 and due_at > ? and lease_owner is null and handed_off_at is null
        and not exists (select 1 from domains d where d.id = deliveries.domain_id and d.verified_at is null)`,
    [now, now],
  );

/** Undoes claims: offered again at once, as if they had not been claimed. */
export async function unclaim(tx: Executor, owner: string, ids: readonly string[], now: number): Promise<void> {
  const among = uuidsIn(tx.dialect, 'id', ids);
  const sql = `update deliveries set lease_owner = null, due_at = ?, attempt = attempt - 1
    where ${among.sql} and lease_owner = ?`;
  await tx.run(sql, [now, among.value, owner]);
}

/** Puts claims off: offered again at `until`, with as much time left for retries as before. */
export async function holdBack(
  tx: Executor,
  owner: string,
  ids: readonly string[],
  hold: { now: number; until: number },
): Promise<void> {
  const among = uuidsIn(tx.dialect, 'id', ids);
  const sql = `update deliveries set lease_owner = null, due_at = ?, attempt = attempt - 1,
      accepted_at = case when attempt = 1 then ? else accepted_at + ? end
    where ${among.sql} and lease_owner = ?`;
  await tx.run(sql, [hold.until, hold.until, hold.until - hold.now, among.value, owner]);
}

/** Undoes the claims of `owner` that it does not carry; they have never come near their hand-off. */
export async function unclaimAllBut(tx: Executor, owner: string, ids: readonly string[], now: number): Promise<void> {
  const carried = uuidsIn(tx.dialect, 'id', ids);
  const sql = `update deliveries set lease_owner = null, due_at = ?, attempt = attempt - 1
    where lease_owner = ? and handed_off_at is null and not (${carried.sql})`;
  await tx.run(sql, [now, owner, carried.value]);
}

/** Undoes every claim of `owner` that did not come to the hand-off; answers how many. */
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

/** Deliveries of an email that nobody has claimed yet. A claim that is under way is waited for. */
const UNCLAIMED = 'email_id = ? and attempt = 0 and lease_owner is null';

export const removeUnclaimed = (tx: Executor, emailId: string): Promise<number> =>
  tx.run(`delete from deliveries where ${UNCLAIMED}`, [emailId]);

export async function hasDeliveries(tx: Executor, emailId: string): Promise<boolean> {
  return (await tx.get('select 1 as one from deliveries where email_id = ? limit 1', [emailId])) !== undefined;
}

/** Gives what is not claimed another time; answers how many rows moved, and how many could not. */
export async function moveUnclaimed(
  tx: Executor,
  emailId: string,
  dueAt: number,
): Promise<{ moved: number; claimed: number }> {
  const sql = `update deliveries set due_at = ?, accepted_at = ? where ${UNCLAIMED}`;
  const moved = await tx.run(sql, [dueAt, dueAt, emailId]);
  const all = await tx.get<{ n: number }>('select count(*) as n from deliveries where email_id = ?', [emailId]);
  return { moved, claimed: (all?.n ?? 0) - moved };
}
