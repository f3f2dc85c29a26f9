import { textsIn, type Executor } from '../../../platform/db/index.ts';
import type { Direction } from './rows.ts';

/** Number of threads of one sender that are searched, newest first. */
const THREADS_MAX = 500;
const ANSWERS_MAX = 100;
/** Matches the header of RFC 3834 §5 in the stored headers of an email. */
const BY_MACHINE = `lower(m.headers) like '%"auto-submitted"%'`;

/**
 * Returns the headers, as JSON, of replies that programs sent for the inboxes of a team, in threads with this address,
 * after that email.
 */
export async function automaticAnswersTo(
  db: Executor,
  teamId: string,
  { address, sinceId }: { address: string; sinceId: string },
): Promise<string[]> {
  const rows = await db.all<{ headers: string }>(
    `select m.headers from
      (select p.thread_id from inboxes i join inbox_participants p on p.inbox_id = i.id and p.address_key = ?
        where i.team_id = ? and i.deleted_at is null order by p.thread_id desc limit ?) t
      join inbox_emails e on e.thread_id = t.thread_id and e.email_id > ? and e.direction = 'outbound'
      join emails m on m.id = e.email_id and ${BY_MACHINE} limit ?`,
    [address, teamId, THREADS_MAX, sinceId, ANSWERS_MAX],
  );
  return rows.map(({ headers }) => headers);
}

/** Number of emails of a thread that are read, newest first. */
const PASSED_MAX = 300;

/** Lists the emails of a thread after that one, oldest first; `to` is a list as JSON. */
export async function passedSince(
  db: Executor,
  threadId: string,
  sinceId: string,
): Promise<{ email_id: string; direction: Direction; to_list: string | null; created_at: number | null }[]> {
  const rows = await db.all<{
    email_id: string;
    direction: Direction;
    to_list: string | null;
    created_at: number | null;
  }>(
    `select e.email_id, e.direction, m.to_list, m.created_at from inbox_emails e left join emails m on m.id = e.email_id and e.direction = 'outbound'
      where e.thread_id = ? and e.email_id > ? order by e.email_id desc limit ?`,
    [threadId, sinceId, PASSED_MAX],
  );
  return rows.reverse();
}

/** Reports whether a program wrote the last email sent in a thread. */
export async function isAnsweredByMachine(db: Executor, threadId: string): Promise<boolean> {
  const row = await db.get<{ n: number | string }>(
    `select count(*) as n from
      (select email_id from inbox_emails where thread_id = ? and direction = 'outbound' order by email_id desc limit 1) e
      join emails m on m.id = e.email_id and ${BY_MACHINE}`,
    [threadId],
  );
  return Number(row?.n) > 0;
}

/** Reports whether mail to one of these keys of a domain goes to an inbox of any team. */
export async function isInboxHere(db: Executor, domain: string, keys: readonly string[]): Promise<boolean> {
  const own = textsIn(db.dialect, 'i.address_key', keys);
  const row = await db.get<{ n: number | string }>(
    `select count(*) as n from domains d join inboxes i on i.domain_id = d.id and i.deleted_at is null
      where d.name = ? and ${own.sql}`,
    [domain, own.value],
  );
  return Number(row?.n) > 0;
}
