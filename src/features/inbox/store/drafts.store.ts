import { cutPage, pageSql, pageValues, uuidsIn, type Executor, type Page } from '../../../platform/db/index.ts';
import { insertContents, type ContentRow, type FileRow } from '../../../mail/contents/index.ts';

/** Lists are JSON text. */
export interface DraftRow {
  id: string;
  team_id: string;
  inbox_id: string;
  /** Both are set or neither. */
  thread_id: string | null;
  reply_to_email_id: string | null;
  to_list: string | null;
  cc_list: string;
  bcc_list: string;
  subject: string | null;
  html: string | null;
  text: string | null;
  /** Grant of the app that is the only writer; null once anybody else has written. */
  author_grant_id: string | null;
  /** Name of the app that wrote it or changed it last; null if no app did. */
  changed_by_app: string | null;
  /** Email that it was sent as. */
  email_id: string | null;
  created_at: number;
  updated_at: number;
}

export interface DraftFileRow {
  id: string;
  draft_id: string;
  position: number;
  filename: string;
  content_type: string;
  size: number;
}

const COLUMNS = [
  'id',
  'team_id',
  'inbox_id',
  'thread_id',
  'reply_to_email_id',
  'to_list',
  'cc_list',
  'bcc_list',
  'subject',
  'html',
  'text',
  'author_grant_id',
  'changed_by_app',
  'created_at',
  'updated_at',
] as const;
const FILE_COLUMNS = ['id', 'draft_id', 'position', 'filename', 'content_type', 'size'] as const;
const UNSENT = 'inbox_id = ? and email_id is null';

export async function insertDraft(tx: Executor, row: Omit<DraftRow, 'email_id'>): Promise<void> {
  await tx.insertMany('inbox_drafts', COLUMNS, [COLUMNS.map((column) => row[column])]);
}

export const findDraft = (db: Executor, inboxId: string, id: string): Promise<DraftRow | undefined> =>
  db.get<DraftRow>('select * from inbox_drafts where inbox_id = ? and id = ?', [inboxId, id]);

/** Reads the draft and locks it until the end of the transaction. */
export function lockDraft(tx: Executor, inboxId: string, id: string): Promise<DraftRow | undefined> {
  const lock = tx.dialect === 'pg' ? 'for update' : '';
  return tx.get<DraftRow>(`select * from inbox_drafts where inbox_id = ? and id = ? ${lock}`, [inboxId, id]);
}

/** Lists unsent drafts, newest first. */
export async function listDraftRows(
  db: Executor,
  inboxId: string,
  page: Page,
): Promise<{ rows: DraftRow[]; hasMore: boolean }> {
  return cutPage(await db.all<DraftRow>(pageSql('inbox_drafts', UNSENT, page), [inboxId, ...pageValues(page)]), page);
}

export type DraftChange = Partial<
  Pick<
    DraftRow,
    | 'to_list'
    | 'cc_list'
    | 'bcc_list'
    | 'subject'
    | 'html'
    | 'text'
    | 'author_grant_id'
    | 'changed_by_app'
    | 'updated_at'
  >
>;

export async function updateDraftRow(tx: Executor, id: string, change: DraftChange): Promise<void> {
  const fields = Object.keys(change) as (keyof DraftChange)[];
  const set = fields.map((field) => `${field} = ?`).join(', ');
  await tx.run(`update inbox_drafts set ${set} where id = ?`, [...fields.map((field) => change[field] ?? null), id]);
}

/** Marks a draft as sent; returns true for only one of two concurrent calls. */
export const markDraftSent = async (
  tx: Executor,
  id: string,
  { emailId, at }: { emailId: string; at: number },
): Promise<boolean> =>
  (await tx.run('update inbox_drafts set email_id = ?, updated_at = ? where id = ? and email_id is null', [
    emailId,
    at,
    id,
  ])) === 1;

export const deleteDraftRow = (tx: Executor, id: string): Promise<number> =>
  tx.run('delete from inbox_drafts where id = ?', [id]);

export async function insertDraftFiles(
  tx: Executor,
  files: readonly DraftFileRow[],
  contents: readonly (ContentRow | FileRow)[],
): Promise<void> {
  if (files.length === 0) return;
  const rows = files.map((file) => FILE_COLUMNS.map((column) => file[column]));
  await tx.insertMany('inbox_draft_files', FILE_COLUMNS, rows);
  await insertContents(tx, contents);
}

/** Lists the files of each draft in their order. */
export async function filesOfDrafts(db: Executor, draftIds: readonly string[]): Promise<DraftFileRow[]> {
  if (draftIds.length === 0) return [];
  const among = uuidsIn(db.dialect, 'draft_id', draftIds);
  const sql = `select * from inbox_draft_files where ${among.sql} order by draft_id, position`;
  return (await db.all<DraftFileRow>(sql, [among.value])).map((row) => ({ ...row, size: Number(row.size) }));
}

/** Counts the unsent drafts of an inbox, and the bytes of their files. */
export async function weighDrafts(db: Executor, inboxId: string): Promise<{ drafts: number; bytes: number }> {
  const row = await db.get<{ drafts: number | string; bytes: number | string }>(
    `select count(*) as drafts, (select coalesce(sum(f.size), 0) from inbox_drafts d join inbox_draft_files f
      on f.draft_id = d.id where d.inbox_id = ? and d.email_id is null) as bytes from inbox_drafts where ${UNSENT}`,
    [inboxId, inboxId],
  );
  return { drafts: Number(row?.drafts), bytes: Number(row?.bytes) };
}

/** Deletes the drafts that were sent as these emails; returns their ids. */
export async function deleteDraftsSentAs(tx: Executor, emailIds: readonly string[]): Promise<string[]> {
  const among = uuidsIn(tx.dialect, 'email_id', emailIds);
  const sql = `delete from inbox_drafts where email_id is not null and ${among.sql} returning id`;
  return (await tx.all<{ id: string }>(sql, [among.value])).map(({ id }) => id);
}
