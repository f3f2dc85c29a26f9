import { pageOf, rowsEnding, uuidsIn, type Executor, type Page, type Value } from '../../../platform/db/index.ts';
import type { InboxEmailRow, StoredFolder, ThreadRow } from './rows.ts';

export interface ThreadFilter {
  inboxId: string;
  folders: readonly StoredFolder[];
  read: boolean | undefined;
  /** Of one of these. */
  labels: readonly string[] | undefined;
}

/**
 * Each folder, and each label, is read in the order of its own index, and the beginnings are merged: so a page costs the same
 * in an inbox of any size.
 */
export async function listThreadRows(
  db: Executor,
  filter: ThreadFilter,
  page: Page,
): Promise<{ rows: ThreadRow[]; hasMore: boolean }> {
  const edge = await sortIdOf(db, filter.inboxId, page.after ?? page.before);
  const isBack = page.before !== undefined;
  const order = isBack ? 'asc' : 'desc';
  const read = filter.read === undefined ? '' : 'and is_read = ?';
  const beyond = edge === undefined ? '' : `and sort_id ${isBack ? '>' : '<'} ?`;
  const rest: Value[] = [
    ...(filter.read === undefined ? [] : [filter.read ? 1 : 0]),
    ...(edge === undefined ? [] : [edge]),
    page.limit + 1,
  ];
  const parts = filter.folders.flatMap((folder) =>
    filter.labels === undefined
      ? [{ from: 'inbox_threads', id: 'id', by: 'inbox_id', ofInbox: '', values: [filter.inboxId, folder, ...rest] }]
      : filter.labels.map((label) => ({
          ...{ from: 'inbox_thread_labels', id: 'thread_id', by: 'label_id' },
          ofInbox: 'and exists (select 1 from inbox_labels where id = label_id and inbox_id = ?)',
          values: [label, folder, filter.inboxId, ...rest],
        })),
  );
  if (parts.length === 0) return { rows: [], hasMore: false };
  const sql = parts
    .map(
      ({ from, id, by, ofInbox }) => `select * from (select ${id} as thread_id, sort_id from ${from}
        where ${by} = ? and folder = ? ${ofInbox} ${read} ${beyond} order by sort_id ${order} limit ?) as part`,
    )
    .join(' union ');
  const rows = await db.all<ThreadRow>(
    `select t.* from (select thread_id, sort_id from (${sql}) as parts order by sort_id ${order} limit ?) as page
      join inbox_threads t on t.id = page.thread_id order by page.sort_id ${order}`,
    [...parts.flatMap(({ values }) => values), page.limit + 1],
  );
  return pageOf(rows, page);
}

/** Of every folder, the one that began last first. */
export const threadRowsEnding = (db: Executor, inboxId: string, end: string, page: Page) =>
  rowsEnding<ThreadRow>(db, { ...BY_END, where: { sql: 'inbox_id = ?', values: [inboxId] } }, end, page);

const BY_END = { table: 'inbox_threads', columns: '*', id: 'id', form: 'uuid', noun: 'threads' } as const;

/** A thread that is gone stands where it began. */
async function sortIdOf(db: Executor, inboxId: string, id: string | undefined): Promise<string | undefined> {
  if (id === undefined) return undefined;
  const sql = 'select sort_id from inbox_threads where inbox_id = ? and id = ?';
  return (await db.get<{ sort_id: string }>(sql, [inboxId, id]))?.sort_id ?? id;
}

export interface ThreadLabelRow {
  thread_id: string;
  id: string;
  name: string;
  color: string;
}

/** By name. */
export async function labelsOfThreads(db: Executor, threadIds: readonly string[]): Promise<ThreadLabelRow[]> {
  if (threadIds.length === 0) return [];
  const among = uuidsIn(db.dialect, 't.thread_id', threadIds);
  return db.all<ThreadLabelRow>(
    `select t.thread_id, l.id, l.name, l.color from inbox_thread_labels t join inbox_labels l on l.id = t.label_id
      where ${among.sql} and l.deleted_at is null order by l.name_key, l.id`,
    [among.value],
  );
}

export async function addThreadLabels(tx: Executor, thread: ThreadRow, labelIds: readonly string[]): Promise<void> {
  if (labelIds.length === 0) return;
  await tx.insertMany(
    'inbox_thread_labels',
    ['thread_id', 'label_id', 'folder', 'is_read', 'sort_id'],
    labelIds.map((label) => [thread.id, label, thread.folder, thread.is_read, thread.sort_id]),
    'on conflict (thread_id, label_id) do nothing',
  );
}

export async function removeThreadLabels(tx: Executor, threadId: string, labelIds: readonly string[]): Promise<void> {
  const among = uuidsIn(tx.dialect, 'label_id', labelIds);
  await tx.run(`delete from inbox_thread_labels where thread_id = ? and ${among.sql}`, [threadId, among.value]);
}

/** Of these threads, those that somebody has begun to answer. */
export async function withDrafts(db: Executor, threadIds: readonly string[]): Promise<Set<string>> {
  if (threadIds.length === 0) return new Set();
  const among = uuidsIn(db.dialect, 'thread_id', threadIds);
  const rows = await db.all<{ thread_id: string }>(
    `select distinct thread_id from inbox_drafts where thread_id is not null and ${among.sql} and email_id is null`,
    [among.value],
  );
  return new Set(rows.map((row) => row.thread_id));
}

/** Of these threads, those whose newest email the inbox has sent. */
export async function sentLast(db: Executor, threadIds: readonly string[]): Promise<Set<string>> {
  if (threadIds.length === 0) return new Set();
  const among = uuidsIn(db.dialect, 'id', threadIds);
  const rows = await db.all<{ id: string }>(
    `select id from (select id, (select direction from inbox_emails where thread_id = t.id order by email_id desc limit 1)
      as direction from inbox_threads t where ${among.sql}) as newest where direction = 'outbound'`,
    [among.value],
  );
  return new Set(rows.map((row) => row.id));
}

/** The addresses of these people, as far as they are in the team. */
export async function assigneesAmong(
  db: Executor,
  teamId: string,
  userIds: readonly string[],
): Promise<Map<string, string>> {
  if (userIds.length === 0) return new Map();
  const among = uuidsIn(db.dialect, 'm.user_id', userIds);
  const rows = await db.all<{ user_id: string; email: string }>(
    `select m.user_id, u.email from team_members m join users u on u.id = m.user_id where m.team_id = ? and ${among.sql}`,
    [teamId, among.value],
  );
  return new Map(rows.map((row) => [row.user_id, row.email]));
}

export type ThreadEmail = Pick<InboxEmailRow, 'email_id' | 'direction' | 'is_read'>;

/** Newest first. */
export async function listThreadEmailRows(
  db: Executor,
  threadId: string,
  page: Page,
): Promise<{ rows: ThreadEmail[]; hasMore: boolean }> {
  const edge = page.after ?? page.before;
  const isBack = page.before !== undefined;
  const beyond = edge === undefined ? '' : `and email_id ${isBack ? '>' : '<'} ?`;
  const rows = await db.all<ThreadEmail>(
    `select email_id, direction, is_read from inbox_emails where thread_id = ? ${beyond}
      order by email_id ${isBack ? 'asc' : 'desc'} limit ?`,
    [threadId, ...(edge === undefined ? [] : [edge]), page.limit + 1],
  );
  return pageOf(rows, page);
}

export const findThreadEmail = (db: Executor, threadId: string, emailId: string): Promise<ThreadEmail | undefined> =>
  db.get<ThreadEmail>('select email_id, direction, is_read from inbox_emails where thread_id = ? and email_id = ?', [
    threadId,
    emailId,
  ]);
