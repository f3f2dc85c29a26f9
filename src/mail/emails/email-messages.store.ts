import { uuidsIn, type Executor } from '../../platform/db/index.ts';
import type { ArcChain } from '../../protocol/arc/index.ts';

/** A message that its client composed, sent as it is but for what its domain tracks. */
export interface MessageRow {
  email_id: string;
  /** The headers, each with its line end; signatures and the empty line are put around them when it is sent. */
  head: string;
  /** One character for each byte; null where the body is a content of its own. */
  body: string | null;
  body_bytes: number;
  /** As DKIM wants it. */
  body_hash: string;
  /** Where links can be tracked; JSON. */
  html_parts: string | null;
  is_eight_bit: number;
  needs_smtp_utf8: number;
  /** Of a message that is passed on: what its ARC seal says of those before it. Null where it is signed instead. */
  arc_chain: ArcChain | null;
}

const COLUMNS = [
  'email_id',
  'head',
  'body',
  'body_bytes',
  'body_hash',
  'html_parts',
  'is_eight_bit',
  'needs_smtp_utf8',
  'arc_chain',
] as const;

export const MESSAGE_BLOB = 'message';

export async function insertMessages(tx: Executor, rows: readonly MessageRow[]): Promise<void> {
  if (rows.length === 0) return;
  await tx.insertMany(
    'email_messages',
    COLUMNS,
    rows.map((row) => COLUMNS.map((column) => row[column])),
  );
}

export const findMessage = (db: Executor, emailId: string): Promise<MessageRow | undefined> =>
  db.get<MessageRow>('select * from email_messages where email_id = ?', [emailId]);

/** Answers the emails whose body did not stand here. */
export async function deleteMessages(tx: Executor, emailIds: readonly string[]): Promise<string[]> {
  const among = uuidsIn(tx.dialect, 'email_id', emailIds);
  const sql = `delete from email_messages where ${among.sql} returning email_id, case when body is null then 1 else 0 end as elsewhere`;
  const gone = await tx.all<{ email_id: string; elsewhere: number }>(sql, [among.value]);
  return gone.filter((row) => row.elsewhere === 1).map((row) => row.email_id);
}
