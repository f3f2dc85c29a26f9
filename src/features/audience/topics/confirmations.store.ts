import { uuidsIn, type Executor } from '../../../platform/db/index.ts';

/** A contact that was asked to confirm a topic and has not responded. */
export interface ConfirmationRow {
  contact_id: string;
  topic_id: string;
  team_id: string;
  id: string;
  /** Time of the request; in the future if the contact may not be asked again yet. */
  asked_at: number;
  /** Time at which the mail was sent or failed; null while it is pending. */
  mailed_at: number | null;
  /** Reason why no mail was sent. */
  fault: string | null;
}

const COLUMNS = ['contact_id', 'topic_id', 'team_id', 'id', 'asked_at', 'mailed_at', 'fault'] as const;

/** Inserts confirmation requests; a repeated one replaces the previous one. */
export async function writeConfirmations(tx: Executor, rows: readonly ConfirmationRow[]): Promise<void> {
  const renewed = COLUMNS.slice(2).map((column) => `${column} = excluded.${column}`);
  await tx.insertMany(
    'topic_confirmations',
    COLUMNS,
    rows.map((row) => COLUMNS.map((column) => row[column])),
    `on conflict (contact_id, topic_id) do update set ${renewed.join(', ')}`,
  );
}

export const listConfirmations = (db: Executor, contactId: string): Promise<ConfirmationRow[]> =>
  db.all<ConfirmationRow>('select * from topic_confirmations where contact_id = ?', [contactId]);

/** Returns the oldest requests whose mail is due and not sent yet. */
export function dueConfirmations(db: Executor, now: number, limit: number): Promise<ConfirmationRow[]> {
  const sql = 'select * from topic_confirmations where mailed_at is null and asked_at <= ? order by id limit ?';
  return db.all<ConfirmationRow>(sql, [now, limit]);
}

/** Marks a request as mailed, unless the contact was asked again meanwhile. */
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

export async function forgetConfirmationsOfEach(
  tx: Executor,
  pairs: readonly Pick<ConfirmationRow, 'contact_id' | 'topic_id'>[],
): Promise<void> {
  if (pairs.length === 0) return;
  await tx.runEach(
    'delete from topic_confirmations where contact_id = ? and topic_id = ?',
    pairs.map((pair) => [pair.contact_id, pair.topic_id]),
  );
}

export const removeConfirmations = (tx: Executor, contactId: string): Promise<number> =>
  tx.run('delete from topic_confirmations where contact_id = ?', [contactId]);

/** Removes the requests of a topic that was deleted or no longer requires confirmation. */
export async function removeConfirmationsFor(tx: Executor, topicId: string): Promise<void> {
  await tx.run('delete from topic_confirmations where topic_id = ?', [topicId]);
}

const DAY_MS = 24 * 3_600_000;
/**
 * Older mails no longer count: an address is mailed about a topic at most once a day and three times in this period.
 */
const COUNTED_MS = 30 * DAY_MS;

/** A mail that asks an address to confirm a topic. */
interface ConfirmationMail {
  topicId: string;
  emailHash: string;
  /** Id of the request in `topic_confirmations`. */
  askingId: string;
}

/** Counts a mail. Returns false if it would exceed the limit. The same request is counted once. */
export async function countConfirmationMail(tx: Executor, mail: ConfirmationMail, now: number): Promise<boolean> {
  const { topicId, emailHash, askingId } = mail;
  // A single statement, so that only one of several concurrent nodes counts.
  const counted = await tx.run(
    `insert into topic_confirmation_mails (topic_id, email_hash, asking_id, last_at) values (?, ?, ?, ?)
     on conflict (topic_id, email_hash) do update set asking_id = excluded.asking_id, last_at = excluded.last_at,
       second_last_at = topic_confirmation_mails.last_at, third_last_at = topic_confirmation_mails.second_last_at
     where topic_confirmation_mails.asking_id <> excluded.asking_id and topic_confirmation_mails.last_at <= ?
       and coalesce(topic_confirmation_mails.third_last_at, 0) <= ?`,
    [topicId, emailHash, askingId, now, now - DAY_MS, now - COUNTED_MS],
  );
  if (counted > 0) return true;
  const sql = 'select asking_id from topic_confirmation_mails where topic_id = ? and email_hash = ?';
  return (await tx.get<{ asking_id: string }>(sql, [topicId, emailHash]))?.asking_id === askingId;
}

/** Undoes the count of a mail that could not be sent. */
export async function uncountConfirmationMail(tx: Executor, mail: ConfirmationMail): Promise<void> {
  const { topicId, emailHash, askingId } = mail;
  const own = [topicId, emailHash, askingId];
  const which = 'where topic_id = ? and email_hash = ? and asking_id = ?';
  await tx.run(`delete from topic_confirmation_mails ${which} and second_last_at is null`, own);
  // The time that was dropped was too old to count, unless this mail had not been counted.
  await tx.run(
    `update topic_confirmation_mails set last_at = second_last_at, second_last_at = third_last_at, third_last_at = null ${which}`,
    own,
  );
}

export const removeOldConfirmationMails = (db: Executor, now: number): Promise<number> =>
  db.run('delete from topic_confirmation_mails where last_at <= ?', [now - COUNTED_MS]);
