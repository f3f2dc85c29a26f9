import { holdEvents } from '../../../mail/events/index.ts';
import { uuidsIn, type Executor } from '../../../platform/db/index.ts';

export interface PayloadRow {
  event_id: string;
  team_id: string;
  payload: string;
  /** Whether it tells what the recorded event says: it is not written where that was erased meanwhile. */
  isOfRecorded: boolean;
}

export async function findPayloads(
  db: Executor,
  teamId: string,
  eventIds: readonly string[],
): Promise<Map<string, string>> {
  const among = uuidsIn(db.dialect, 'event_id', eventIds);
  const sql = `select event_id, payload from webhook_payloads where team_id = ? and ${among.sql}`;
  const rows = await db.all<Pick<PayloadRow, 'event_id' | 'payload'>>(sql, [teamId, among.value]);
  return new Map(rows.map((row) => [row.event_id, row.payload]));
}

/** Leaves those that stand as they are, and leaves out those whose event was erased meanwhile; answers how many are new. */
export async function insertPayloads(tx: Executor, rows: readonly PayloadRow[]): Promise<number> {
  const recorded = rows.filter((row) => row.isOfRecorded).map((row) => row.event_id);
  const kept = await holdEvents(tx, recorded);
  // In one order for everybody, or two nodes that write the same ones would wait for each other for ever.
  const ordered = rows
    .filter((row) => !row.isOfRecorded || kept.has(row.event_id))
    .toSorted((a, b) => (a.event_id < b.event_id ? -1 : 1));
  if (ordered.length === 0) return 0;
  return tx.insertMany(
    'webhook_payloads',
    ['event_id', 'team_id', 'payload'],
    ordered.map((row) => [row.event_id, row.team_id, row.payload]),
    'on conflict (team_id, event_id) do nothing',
  );
}

/** Of events whose data is being erased. */
export async function erasePayloads(tx: Executor, teamId: string, eventIds: readonly string[]): Promise<void> {
  if (eventIds.length === 0) return;
  const among = uuidsIn(tx.dialect, 'event_id', eventIds);
  await tx.run(`delete from webhook_payloads where team_id = ? and ${among.sql}`, [teamId, among.value]);
}
