import { uuidsIn, type Executor } from '../../../platform/db/index.ts';
import { removeContents } from '../../../mail/contents/index.ts';
import { deleteDraftsSentAs } from './drafts.store.ts';
import type { ThreadRow } from './rows.ts';

/**
 * Removes threads with all their rows; the emails themselves stay. Returns the drafts with files in the blob store,
 * which are removed after the commit.
 */
export async function removeThreadRows(tx: Executor, threadIds: readonly string[]): Promise<string[]> {
  if (threadIds.length === 0) return [];
  const among = uuidsIn(tx.dialect, 'thread_id', threadIds);
  await tx.run(`delete from inbox_emails where ${among.sql}`, [among.value]);
  await tx.run(`delete from inbox_message_ids where ${among.sql}`, [among.value]);
  await tx.run(`delete from inbox_participants where ${among.sql}`, [among.value]);
  await tx.run(`delete from inbox_thread_labels where ${among.sql}`, [among.value]);
  await tx.run(`delete from inbox_answering where ${among.sql}`, [among.value]);
  const drafts = await tx.all<{ id: string }>(
    `delete from inbox_drafts where thread_id is not null and ${among.sql} returning id`,
    [among.value],
  );
  const rows = uuidsIn(tx.dialect, 'id', threadIds);
  await tx.run(`delete from inbox_threads where ${rows.sql}`, [rows.value]);
  return removeDraftFiles(
    tx,
    drafts.map(({ id }) => id),
  );
}

/** Removes the files of drafts; returns the drafts whose files are in the blob store. */
export async function removeDraftFiles(tx: Executor, draftIds: readonly string[]): Promise<string[]> {
  if (draftIds.length === 0) return [];
  const among = uuidsIn(tx.dialect, 'draft_id', draftIds);
  const files = await tx.all<{ draft_id: string }>(
    `delete from inbox_draft_files where ${among.sql} returning draft_id`,
    [among.value],
  );
  const withFiles = [...new Set(files.map((row) => row.draft_id))];
  if (withFiles.length === 0) return [];
  const inRows = await removeContents(tx, withFiles);
  return withFiles.filter((id) => !inRows.has(id));
}

/**
 * Runs in the transaction that removes emails, sent or received: removes drafts that were sent as them too, and threads
 * without emails, with their drafts.
 */
export async function removeInboxEmails(tx: Executor, emailIds: readonly string[]): Promise<string[]> {
  if (emailIds.length === 0) return [];
  await lockThreads(tx, emailIds);
  const ofDrafts = await removeDraftFiles(tx, await deleteDraftsSentAs(tx, emailIds));
  return [...ofDrafts, ...(await removeEmptied(tx, emailIds))];
}

/**
 * Locks the threads first, as every writer to a thread does: a reply that is being added keeps its thread, and no
 * deadlock arises.
 */
async function lockThreads(tx: Executor, emailIds: readonly string[]): Promise<void> {
  if (tx.dialect !== 'pg') return;
  const among = uuidsIn(tx.dialect, 'email_id', emailIds);
  const theirs = `select thread_id from inbox_emails where ${among.sql}`;
  await tx.all(`select id from inbox_threads where id in (${theirs}) order by id for update`, [among.value]);
}

async function removeEmptied(tx: Executor, emailIds: readonly string[]): Promise<string[]> {
  const among = uuidsIn(tx.dialect, 'email_id', emailIds);
  const gone = await tx.all<{ thread_id: string }>(`delete from inbox_emails where ${among.sql} returning thread_id`, [
    among.value,
  ]);
  if (gone.length === 0) return [];
  const ids = [...new Set(gone.map((row) => row.thread_id))].sort();
  const theirs = uuidsIn(tx.dialect, 'thread_id', ids);
  const left = await tx.all<{ thread_id: string; n: number; newest: string; files: number }>(
    `select thread_id, count(*) as n, max(cast(email_id as text)) as newest, max(has_attachment) as files
      from inbox_emails where ${theirs.sql} group by thread_id`,
    [theirs.value],
  );
  const kept = new Map(left.map((row) => [row.thread_id, row]));
  await tx.runEach(
    'update inbox_threads set email_count = ?, has_attachment = ? where id = ?',
    left.map((row) => [Number(row.n), row.files, row.thread_id]),
  );
  for (const row of left) await showNewest(tx, row.thread_id, row.newest);
  return removeThreadRows(
    tx,
    ids.filter((id) => !kept.has(id)),
  );
}

/**
 * Updates the fields that a list shows, which are those of the newest email; nothing of a removed email stays there.
 */
async function showNewest(tx: Executor, threadId: string, newestId: string): Promise<void> {
  const thread = await tx.get<ThreadRow>('select * from inbox_threads where id = ?', [threadId]);
  // A thread that woke is listed ahead of its newest email.
  if (!thread || thread.sort_id === newestId) return;
  const [row] = await tx.all<Pick<ThreadRow, 'sender' | 'to_list'> & Record<'cc_list' | 'bcc_list', string | null>>(
    `select sender, to_list, cc_list, bcc_list from received_emails where id = ?
      union all select sender, to_list, cc_list, bcc_list from emails where id = ?`,
    [newestId, newestId],
  );
  if (!row) return;
  const shown = [row.sender, row.to_list, row.cc_list ?? '[]', row.bcc_list ?? '[]'];
  if (shown[0] === thread.sender && shown[1] === thread.to_list) return;
  await tx.run(
    `update inbox_threads set sender = ?, to_list = ?, cc_list = ?, bcc_list = ?, snippet = '' where id = ?`,
    [...shown, threadId],
  );
}

/** Removes some rows of deleted inboxes and labels; returns how many, and which drafts have files left. */
export async function removeDeletedRows(tx: Executor, limit: number): Promise<{ rows: number; files: string[] }> {
  const labels = await removeDeletedLabel(tx, limit);
  if (labels > 0) return { rows: labels, files: [] };
  const inbox = await tx.get<{ id: string }>(
    'select id from inboxes where deleted_at is not null order by deleted_at limit 1',
  );
  if (!inbox) return { rows: 0, files: [] };
  const lock = tx.dialect === 'pg' ? 'for update' : '';
  const threads = await tx.all<{ id: string }>(
    `select id from inbox_threads where inbox_id = ? order by id limit ? ${lock}`,
    [inbox.id, limit],
  );
  const files = await removeThreadRows(
    tx,
    threads.map(({ id }) => id),
  );
  if (threads.length > 0) return { rows: threads.length, files };
  const drafts = await tx.all<{ id: string }>(
    `delete from inbox_drafts where id in (select id from inbox_drafts where inbox_id = ? limit ?) returning id`,
    [inbox.id, limit],
  );
  const ofDrafts = await removeDraftFiles(
    tx,
    drafts.map(({ id }) => id),
  );
  if (drafts.length > 0) return { rows: drafts.length, files: ofDrafts };
  await tx.run('delete from inbox_labels where inbox_id = ?', [inbox.id]);
  return { rows: await tx.run('delete from inboxes where id = ?', [inbox.id]), files: [] };
}

async function removeDeletedLabel(tx: Executor, limit: number): Promise<number> {
  const label = await tx.get<{ id: string }>(
    'select id from inbox_labels where deleted_at is not null order by deleted_at limit 1',
  );
  if (!label) return 0;
  const rows = await tx.run(
    `delete from inbox_thread_labels where label_id = ? and thread_id in
      (select thread_id from inbox_thread_labels where label_id = ? limit ?)`,
    [label.id, label.id, limit],
  );
  return rows > 0 ? rows : tx.run('delete from inbox_labels where id = ?', [label.id]);
}

/** Returns some of the threads that were put into the trash before `before`. */
export const trashedThreads = (db: Executor, before: number, limit: number): Promise<ThreadRow[]> =>
  db.all<ThreadRow>(
    'select * from inbox_threads where trashed_at is not null and trashed_at < ? order by trashed_at limit ?',
    [before, limit],
  );

/** Returns some of the snoozed threads that are due. */
export function wakingThreads(tx: Executor, at: number, limit: number): Promise<ThreadRow[]> {
  const lock = tx.dialect === 'pg' ? 'for update skip locked' : '';
  return tx.all<ThreadRow>(
    `select * from inbox_threads where snoozed_until is not null and snoozed_until <= ? order by snoozed_until limit ? ${lock}`,
    [at, limit],
  );
}

export async function inboxDraftsAmong(db: Executor, ids: readonly string[]): Promise<string[]> {
  const among = uuidsIn(db.dialect, 'id', ids);
  return (await db.all<{ id: string }>(`select id from inbox_drafts where ${among.sql}`, [among.value])).map(
    ({ id }) => id,
  );
}
