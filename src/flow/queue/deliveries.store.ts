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
  attempt: number;
  accepted_at: number;
  due_at: number;
  lease_owner: string | null;
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
 * Claims up to `limit` due rows for `owner`, oldest due first; a claim not settled by `leaseUntil` is offered again.
 * On PostgreSQL nodes skip each other's claims instead of waiting for them.
 */
export function claimDue(
  tx: Executor,
  claim: { owner: string; now: number; leaseUntil: number; limit: number; exceptDestinations: string[] },
): Promise<DeliveryRow[]> {
  const busy = textsIn(tx.dialect, 'destination', claim.exceptDestinations);
  const notBusy = claim.exceptDestinations.length === 0 ? '' : `and not (${busy.sql})`;
  const skip = tx.dialect === 'pg' ? 'for update skip locked' : '';
  const sql = `update deliveries set lease_owner = ?, due_at = ?, attempt = attempt + 1
    where id in (select id from deliveries where due_at <= ? ${notBusy} order by due_at limit ? ${skip}) returning *`;
  const excepted = claim.exceptDestinations.length === 0 ? [] : [busy.value];
  return tx.all<DeliveryRow>(sql, [claim.owner, claim.leaseUntil, claim.now, ...excepted, claim.limit]);
}

export async function nextDueAt(db: Executor): Promise<number | undefined> {
  return (await db.get<{ due_at: number }>('select due_at from deliveries order by due_at limit 1'))?.due_at;
}

/** Writes the hand-off ledger; answers the ids that are still this owner's, for only they may be handed off. */
export async function recordHandOffs(tx: Executor, owner: string, ids: string[], now: number): Promise<Set<string>> {
  const among = uuidsIn(tx.dialect, 'id', ids);
  const sql = `update deliveries set handed_off_at = ? where ${among.sql} and lease_owner = ? returning id`;
  return new Set((await tx.all<{ id: string }>(sql, [now, among.value, owner])).map((row) => row.id));
}

export async function deleteDeliveries(tx: Executor, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  const among = uuidsIn(tx.dialect, 'id', ids);
  await tx.run(`delete from deliveries where ${among.sql}`, [among.value]);
}

export async function setRecipients(tx: Executor, id: string, recipients: readonly string[]): Promise<void> {
  await tx.run('update deliveries set recipients = ? where id = ?', [JSON.stringify(recipients), id]);
}

/** Gives a claimed row back to the queue, to be offered at `dueAt`. */
export async function rescheduleDelivery(
  tx: Executor,
  row: Pick<DeliveryRow, 'id' | 'attempt' | 'due_at' | 'handed_off_at'> & { recipients: readonly string[] },
): Promise<void> {
  await tx.run(
    'update deliveries set recipients = ?, attempt = ?, due_at = ?, handed_off_at = ?, lease_owner = null where id = ?',
    [JSON.stringify(row.recipients), row.attempt, row.due_at, row.handed_off_at, row.id],
  );
}

/** What `owner` claimed and did not reach the hand-off with: offered again at once, as if it had not been claimed. */
export async function releaseUnsent(tx: Executor, owner: string, now: number): Promise<number> {
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
