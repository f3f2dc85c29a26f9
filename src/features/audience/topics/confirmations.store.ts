import { uuidsIn, type Executor } from '../../../platform/db/index.ts';

/** Somebody who was asked whether it wants a topic, and has not answered. */
export interface ConfirmationRow {
  contact_id: string;
  topic_id: string;
  team_id: string;
  id: string;
  /** In the future for one that waits until the day since the last asking is over. */
  asked_at: number;
  /** Null while the mail is still to be handed over. */
  mailed_at: number | null;
  /** Why there was no mail. */
  fault: string | null;
}

const COLUMNS = ['contact_id', 'topic_id', 'team_id', 'id', 'asked_at', 'mailed_at', 'fault'] as const;

/** Asks, and asks anew who was asked before. */
export async function writeConfirmations(tx: Executor, rows: readonly ConfirmationRow[]): Promise<void> {
  const renewed = COLUMNS.slice(2).map((column) => `${column} = excluded.${column}`);
  await tx.insertMany(
    'topic_confirmations',
    COLUMNS,
    rows.map((row) => COLUMNS.map((column) => row[column])),
    `on conflict (contact_id, topic_id) do update set ${renewed.join(', ')}`,
  );
}

export const confirmationsOf = (db: Executor, contactId: string): Promise<ConfirmationRow[]> =>
  db.all<ConfirmationRow>('select * from topic_confirmations where contact_id = ?', [contactId]);

/** The oldest whose mail is still to be handed over. */
export function dueConfirmations(db: Executor, now: number, limit: number): Promise<ConfirmationRow[]> {
  const sql = 'select * from topic_confirmations where mailed_at is null and asked_at <= ? order by id limit ?';
  return db.all<ConfirmationRow>(sql, [now, limit]);
}

/** Unless it was asked anew meanwhile. */
export async function noteConfirmationMailed(
  tx: Executor,
  { id, contact_id, topic_id }: ConfirmationRow,
  { at, fault }: { at: number; fault: string | null },
): Promise<void> {
  const sql = `update topic_confirmations set mailed_at = ?, fault = ? where contact_id = ? and topic_id = ? and id = ?`;
  await tx.run(sql, [at, fault, contact_id, topic_id, id]);
}

export async function forgetConfirmations(tx: Executor, contactId: string, topicIds: readonly string[]): Promise<void> {
  if (topicIds.length === 0) return;
  const among = uuidsIn(tx.dialect, 'topic_id', topicIds);
  await tx.run(`delete from topic_confirmations where contact_id = ? and ${among.sql}`, [contactId, among.value]);
}

export async function removeConfirmationsOf(tx: Executor, contactId: string): Promise<void> {
  await tx.run('delete from topic_confirmations where contact_id = ?', [contactId]);
}

/** Of a topic that cannot be joined any more, or that is joined without confirmation. */
export async function removeConfirmationsFor(tx: Executor, topicId: string): Promise<void> {
  await tx.run('delete from topic_confirmations where topic_id = ?', [topicId]);
}
