import { uuidsIn, type Executor, type Page } from '../../platform/db/index.ts';

/** Where the names of those who decide for a contact are, by their kind. An app acts for a user. */
const NAMED: Readonly<Record<string, string>> = {
  api_key: 'select id, name from api_keys where',
  user: 'select id, email as name from users where',
  app: 'select id, email as name from users where',
  automation: 'select id, name from automations where',
};

/** Returns the names of keys, users and automations that still exist, by kind and id. */
export async function namesOfActors(
  db: Executor,
  actors: readonly { kind: string; id: string | null }[],
): Promise<Map<string, string>> {
  const names = new Map<string, string>();
  for (const [kind, some] of Map.groupBy(actors, (actor) => actor.kind)) {
    const sql = NAMED[kind];
    if (sql === undefined) continue;
    const among = uuidsIn(db.dialect, 'id', [...new Set(some.flatMap(({ id }) => id ?? []))]);
    const rows = await db.all<{ id: string; name: string }>(`${sql} ${among.sql}`, [among.value]);
    for (const { id, name } of rows) names.set(`${kind} ${id}`, name);
  }
  return names;
}

interface ParticipatedThread {
  id: string;
  /** The address of the inbox. */
  inbox: string;
  subject: string;
  folder: string;
  email_count: number;
  notes: string | null;
  created_at: number;
  last_at: number;
}

/** Reads one page of the threads that an address takes part in, newest first, and one more. */
export function threadsOfPerson(
  db: Executor,
  { teamId, emailKey }: { teamId: string; emailKey: string },
  { limit, after }: Pick<Page, 'limit' | 'after'>,
): Promise<ParticipatedThread[]> {
  const sql = `select t.id, i.address as inbox, t.subject, t.folder, t.email_count, t.notes, t.created_at, t.last_at
    from inboxes i join inbox_participants p on p.inbox_id = i.id and p.address_key = ?
      join inbox_threads t on t.id = p.thread_id
    where i.team_id = ? and i.deleted_at is null ${after === undefined ? '' : 'and t.id < ?'} order by t.id desc limit ?`;
  return db.all<ParticipatedThread>(sql, [emailKey, teamId, ...(after === undefined ? [] : [after]), limit + 1]);
}
