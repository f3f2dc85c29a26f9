import { uuidsIn, type Executor } from '../../../platform/db/index.ts';

/** A member of the team who is writing a reply in a thread. */
export interface AnsweringRow {
  thread_id: string;
  user_id: string;
  name: string | null;
  email: string;
  since_id: string;
  since: number;
}

/**
 * Lists who is writing a reply in these threads, the earliest first: members who may write, whose announcement has not
 * expired, and who have sent nothing in the thread since they began.
 */
export async function listAnswering(
  db: Executor,
  { teamId, threadIds, at }: { teamId: string; threadIds: readonly string[]; at: number },
): Promise<AnsweringRow[]> {
  if (threadIds.length === 0) return [];
  const among = uuidsIn(db.dialect, 'a.thread_id', threadIds);
  return db.all<AnsweringRow>(
    `select a.thread_id, a.user_id, u.name, u.email, a.since_id, a.since from inbox_answering a
      join team_members m on m.team_id = ? and m.user_id = a.user_id and m.role <> 'viewer'
      join users u on u.id = a.user_id
      where ${among.sql} and a.expires_at > ? and not exists (select 1 from inbox_emails e
        where e.thread_id = a.thread_id and e.email_id > a.since_id and e.sent_by = a.user_id)
      order by a.since_id`,
    [teamId, among.value, at],
  );
}

interface Announcement {
  threadId: string;
  userId: string;
  sinceId: string;
  since: number;
  expiresAt: number;
}

export async function putAnswering(
  tx: Executor,
  { threadId, userId, sinceId, since, expiresAt }: Announcement,
): Promise<void> {
  await tx.insertMany(
    'inbox_answering',
    ['thread_id', 'user_id', 'since_id', 'since', 'expires_at'],
    [[threadId, userId, sinceId, since, expiresAt]],
    `on conflict (thread_id, user_id) do update set since_id = excluded.since_id, since = excluded.since,
      expires_at = excluded.expires_at`,
  );
}

export async function deleteAnswering(
  db: Executor,
  { threadId, userId }: { threadId: string; userId: string },
): Promise<void> {
  await db.run('delete from inbox_answering where thread_id = ? and user_id = ?', [threadId, userId]);
}

/** Removes announcements that expired before `at`; returns how many. */
export const deleteExpiredAnswering = (db: Executor, at: number): Promise<number> =>
  db.run('delete from inbox_answering where expires_at <= ?', [at]);
