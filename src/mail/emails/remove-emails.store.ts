import { deleteMessages } from './email-messages.store.ts';
import { listTagKeys, type EmailRow } from './emails.store.ts';
import { uuidsIn, type Executor } from '../../platform/db/index.ts';
import { removeContents } from '../contents/index.ts';

/**
 * Whether an email is done with is decided here, within the transaction that removes it: nothing that waits, is under
 * way or in doubt has ever lost its delivery, and what was scheduled grows old from the time it was scheduled for.
 */
const IS_OVER = `last_event not in ('queued', 'scheduled')
  and (scheduled_at is null or scheduled_at < ? or last_event = 'canceled')
  and not exists (select 1 from deliveries where deliveries.email_id = emails.id)`;

type Removed = Pick<EmailRow, 'id' | 'team_id' | 'tags' | 'attachment_count' | 'has_message'>;

/** Answers the emails that went, with whether the blob store has something of theirs: an email's contents are all in one place. */
export async function removeEmailRows(
  tx: Executor,
  { beforeMs }: { beforeMs: number },
  ids: readonly string[],
): Promise<{ id: string; hasFiles: boolean }[]> {
  const among = uuidsIn(tx.dialect, 'id', ids);
  const sql = `delete from emails where ${among.sql} and ${IS_OVER} returning id, team_id, tags, attachment_count, has_message`;
  const values = [among.value, beforeMs];
  const removed = await tx.all<Removed>(sql, values);
  if (removed.length === 0) return [];
  const gone = removed.map((row) => row.id);
  const theirs = uuidsIn(tx.dialect, 'email_id', gone);
  const bodies = await tx.all<{ email_id: string; elsewhere: number }>(
    `delete from email_bodies where ${theirs.sql} returning email_id, html_in_blob + text_in_blob as elsewhere`,
    [theirs.value],
  );
  await tx.run(`delete from email_attachments where ${theirs.sql}`, [theirs.value]);
  const tags = removed.flatMap(listTagKeys);
  if (tags.length > 0) await tx.runEach('delete from email_tags where team_id = ? and tag = ? and email_id = ?', tags);
  const withContents = new Set(bodies.filter((row) => row.elsewhere > 0).map((row) => row.email_id));
  const composed = removed.filter((row) => row.has_message === 1).map((row) => row.id);
  if (composed.length > 0) for (const id of await deleteMessages(tx, composed)) withContents.add(id);
  for (const row of removed) if (row.attachment_count > 0) withContents.add(row.id);
  const inRows = withContents.size === 0 ? new Set() : await removeContents(tx, [...withContents]);
  return gone.map((id) => ({ id, hasFiles: withContents.has(id) && !inRows.has(id) }));
}
