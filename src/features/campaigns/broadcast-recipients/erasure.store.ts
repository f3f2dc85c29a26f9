import { createHash } from 'node:crypto';
import { uuidsIn, type Executor } from '../../../platform/db/index.ts';

/** What stands in place of an address that was erased: it cannot be read back, and a look-up by the address finds the row again. */
export const erasedKey = (emailKey: string): string => `sha256:${createHash('sha256').update(emailKey).digest('hex')}`;

/**
 * Takes an address out of the reports of a team's broadcasts that still have one. The rows stay, so that the address gets none of
 * them again. Each is looked up by its key: however many recipients there are, it costs a probe a broadcast.
 */
export async function eraseRecipient(tx: Executor, teamId: string, emailKey: string): Promise<number> {
  const theirs = 'broadcast_id in (select id from broadcasts where team_id = ? and body_id is not null)';
  const sql = `update broadcast_recipients set email_key = ?, email = '' where email_key = ? and ${theirs}`;
  return tx.run(sql, [erasedKey(emailKey), emailKey, teamId]);
}

/** Removes up to `limit` rows of a report, with what their recipients have clicked; answers how many. */
export async function removeRecipients(tx: Executor, broadcastId: string, limit: number): Promise<number> {
  const gone = await tx.all<{ email_id: string | null }>(
    `delete from broadcast_recipients where broadcast_id = ? and email_key in (
        select email_key from broadcast_recipients where broadcast_id = ? order by email_key limit ?) returning email_id`,
    [broadcastId, broadcastId, limit],
  );
  const emailIds = gone.flatMap(({ email_id: id }) => id ?? []);
  if (emailIds.length > 0) {
    const among = uuidsIn(tx.dialect, 'email_id', emailIds);
    await tx.run(`delete from broadcast_link_clicks where ${among.sql}`, [among.value]);
  }
  return gone.length;
}

/** There are a thousand and one at the most. */
export const removeLinks = (tx: Executor, broadcastId: string): Promise<number> =>
  tx.run('delete from broadcast_links where broadcast_id = ?', [broadcastId]);
