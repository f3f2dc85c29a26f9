import { cutPage, pageSql, pageValues, uuidsIn, type Executor, type Page } from '../../platform/db/index.ts';
import type { Ended } from '../../protocol/explain-delivery.ts';
import type { ReplyCause } from '../../protocol/smtp-reply/index.ts';

export interface AttemptRow {
  email_id: string;
  id: string;
  created_at: number;
  attempt: number;
  destination: string;
  mx: string | null;
  relay: string | null;
  /** The source that it left by, and the provider that it was for. */
  source: string | null;
  provider: string | null;
  address: string | null;
  tls_version: string | null;
  tls_cipher: string | null;
  duration_ms: number;
  recipients: string;
  transcript: string | null;
}

/** An element of the JSON of `recipients`. */
export interface TriedRecipient extends Ended {
  email: string;
  /** The reason why the mail server refused it. Attempts of older versions have none. */
  cause?: ReplyCause | null;
}

const COLUMNS = [
  'email_id',
  'id',
  'created_at',
  'attempt',
  'destination',
  'mx',
  'relay',
  'source',
  'provider',
  'address',
  'tls_version',
  'tls_cipher',
  'duration_ms',
  'recipients',
  'transcript',
] as const;

export const insertAttempts = (tx: Executor, rows: readonly AttemptRow[]): Promise<number> =>
  tx.insertMany(
    'delivery_attempts',
    COLUMNS,
    rows.map((row) => COLUMNS.map((column) => row[column])),
  );

export async function attemptPage(
  db: Executor,
  emailId: string,
  page: Page,
): Promise<{ rows: AttemptRow[]; hasMore: boolean }> {
  const sql = pageSql('delivery_attempts', 'email_id = ?', page);
  return cutPage(await db.all<AttemptRow>(sql, [emailId, ...pageValues(page)]), page);
}

/** Reads the latest attempt of each of these emails at each destination. */
export function latestAttempts(db: Executor, emailIds: readonly string[]): Promise<AttemptRow[]> {
  const among = uuidsIn(db.dialect, 'email_id', emailIds);
  return db.all<AttemptRow>(
    `select * from delivery_attempts as tried where ${among.sql} and not exists (select 1 from delivery_attempts as later
      where later.email_id = tried.email_id and later.destination = tried.destination and later.id > tried.id)`,
    [among.value],
  );
}

/** Removes the attempts of emails in the transaction that removes the emails. */
export async function removeEmailAttempts(tx: Executor, emailIds: readonly string[]): Promise<void> {
  if (emailIds.length === 0) return;
  const among = uuidsIn(tx.dialect, 'email_id', emailIds);
  await tx.run(`delete from delivery_attempts where ${among.sql}`, [among.value]);
}
