import { defineHook } from '../../platform/hook.ts';
import {
  cutPage,
  pageSql,
  pageValues,
  prefixPage,
  rowsEnding,
  textsIn,
  uuidsIn,
  type Executor,
  type Page,
} from '../../platform/db/index.ts';
import { insertContents, removeContents, type ContentRow, type FileRow } from '../contents/index.ts';
import { addStorage, lockStorage } from '../../tenancy/usage/index.ts';
import { senderKey, senderKeyStart } from './sender-key.ts';

export type DroppedReason = 'storage_quota' | 'daily_cap' | 'virus' | 'parse_failed' | 'inbound_rule' | 'account_mail';
/** Reasons why a rule did not forward a message. */
export type NotForwarded = 'loop' | 'too_many_hops' | 'received_here' | 'account_mail';

/** Lists are JSON text; they are written once and read whole. */
export interface ReceivedEmailRow {
  id: string;
  team_id: string;
  sender: string;
  to_list: string;
  cc_list: string | null;
  bcc_list: string | null;
  reply_to_list: string | null;
  subject: string;
  message_id: string;
  received_for: string;
  dropped_reason: DroppedReason | null;
  attachment_count: number;
  has_raw: number;
  stored_bytes: number;
  mail_from: string;
  client_address: string;
  client_name: string;
  authentication: string | null;
  fingerprint: string | null;
  created_at: number;
  not_forwarded: NotForwarded | null;
}

export interface ReceivedBodyRow {
  received_id: string;
  html: string | null;
  text: string | null;
  headers: string | null;
  html_in_blob: number;
  text_in_blob: number;
  headers_in_blob: number;
}

export interface ReceivedAttachmentRow {
  id: string;
  received_id: string;
  position: number;
  filename: string | null;
  content_type: string;
  content_disposition: string | null;
  content_id: string | null;
  size: number;
  is_stored: number;
}

export interface NewReceivedEmail {
  email: ReceivedEmailRow;
  body: ReceivedBodyRow;
  attachments: ReceivedAttachmentRow[];
  contents: (ContentRow | FileRow)[];
}

const EMAIL_COLUMNS = [
  'id',
  'team_id',
  'sender',
  'to_list',
  'cc_list',
  'bcc_list',
  'reply_to_list',
  'subject',
  'message_id',
  'received_for',
  'dropped_reason',
  'attachment_count',
  'has_raw',
  'stored_bytes',
  'mail_from',
  'client_address',
  'client_name',
  'authentication',
  'fingerprint',
  'created_at',
  'not_forwarded',
] as const;
const BODY_COLUMNS = [
  'received_id',
  'html',
  'text',
  'headers',
  'html_in_blob',
  'text_in_blob',
  'headers_in_blob',
] as const;
const ATTACHMENT_COLUMNS = [
  'id',
  'received_id',
  'position',
  'filename',
  'content_type',
  'content_disposition',
  'content_id',
  'size',
  'is_stored',
] as const;

export async function insertReceived(tx: Executor, emails: readonly NewReceivedEmail[]): Promise<void> {
  if (emails.length === 0) return;
  const rows = emails.map(({ email }) => [
    ...EMAIL_COLUMNS.map((column) => email[column]),
    senderKey(email.sender, email.mail_from),
  ]);
  await tx.insertMany('received_emails', [...EMAIL_COLUMNS, 'sender_key'], rows);
  const bodies = emails.map(({ body }) => BODY_COLUMNS.map((column) => body[column]));
  await tx.insertMany('received_bodies', BODY_COLUMNS, bodies);
  await insertContents(
    tx,
    emails.flatMap(({ contents }) => contents),
  );
  const files = emails.flatMap(({ attachments }) => attachments);
  if (files.length === 0) return;
  const attachments = files.map((file) => ATTACHMENT_COLUMNS.map((column) => file[column]));
  await tx.insertMany('received_attachments', ATTACHMENT_COLUMNS, attachments);
}

/** Finds messages that are stored already, by `<team> <fingerprint>`. */
export async function receivedBefore(
  tx: Executor,
  messages: readonly { teamId: string; fingerprint: string }[],
): Promise<Map<string, string>> {
  if (messages.length === 0) return new Map();
  const teams = uuidsIn(tx.dialect, 'team_id', [...new Set(messages.map(({ teamId }) => teamId))]);
  const prints = textsIn(
    tx.dialect,
    'fingerprint',
    messages.map(({ fingerprint }) => fingerprint),
  );
  const rows = await tx.all<Pick<ReceivedEmailRow, 'id' | 'team_id' | 'fingerprint'>>(
    `select id, team_id, fingerprint from received_emails where ${teams.sql} and ${prints.sql}`,
    [teams.value, prints.value],
  );
  return new Map(rows.map((row) => [`${row.team_id} ${row.fingerprint ?? ''}`, row.id]));
}

export async function listReceivedRows(
  db: Executor,
  teamId: string,
  search: string | undefined,
  page: Page,
): Promise<{ rows: ReceivedEmailRow[]; hasMore: boolean }> {
  if (search !== undefined) {
    const by = { column: 'sender_key', prefix: senderKeyStart(search), where: { sql: 'true', values: [] } };
    return prefixPage<ReceivedEmailRow>(db, { table: 'received_emails', teamId, ...by }, page);
  }
  const rows = await db.all<ReceivedEmailRow>(pageSql('received_emails', 'team_id = ?', page), [
    teamId,
    ...pageValues(page),
  ]);
  return cutPage(rows, page);
}

export const receivedRowsEnding = (db: Executor, teamId: string, end: string, page: Page) =>
  rowsEnding<ReceivedEmailRow>(db, { ...LISTED, where: { sql: 'team_id = ?', values: [teamId] } }, end, page);

const LISTED = { table: 'received_emails', columns: '*', id: 'id', form: 'uuid', noun: 'received emails' } as const;

export const findReceived = (db: Executor, teamId: string, id: string): Promise<ReceivedEmailRow | undefined> =>
  db.get<ReceivedEmailRow>('select * from received_emails where team_id = ? and id = ?', [teamId, id]);

export function receivedByIds(db: Executor, ids: readonly string[]): Promise<ReceivedEmailRow[]> {
  const among = uuidsIn(db.dialect, 'id', ids);
  return db.all<ReceivedEmailRow>(`select * from received_emails where ${among.sql}`, [among.value]);
}

/** Finds an email of any team; for links, whose signature is the authorization. */
export const findReceivedById = (db: Executor, id: string): Promise<ReceivedEmailRow | undefined> =>
  db.get<ReceivedEmailRow>('select * from received_emails where id = ?', [id]);

export async function receivedIdsAmong(db: Executor, ids: readonly string[]): Promise<string[]> {
  const among = uuidsIn(db.dialect, 'id', ids);
  const rows = await db.all<{ id: string }>(`select id from received_emails where ${among.sql}`, [among.value]);
  return rows.map((row) => row.id);
}

export function receivedBodiesByIds(db: Executor, ids: readonly string[]): Promise<ReceivedBodyRow[]> {
  const among = uuidsIn(db.dialect, 'received_id', ids);
  return db.all<ReceivedBodyRow>(`select * from received_bodies where ${among.sql}`, [among.value]);
}

export const findReceivedBody = (db: Executor, id: string): Promise<ReceivedBodyRow | undefined> =>
  db.get<ReceivedBodyRow>('select * from received_bodies where received_id = ?', [id]);

/** Lists the attachments of many emails, in the order of each. */
export async function listAttachmentRows(db: Executor, ids: readonly string[]): Promise<ReceivedAttachmentRow[]> {
  if (ids.length === 0) return [];
  const among = uuidsIn(db.dialect, 'received_id', ids);
  return db.all<ReceivedAttachmentRow>(
    `select * from received_attachments where ${among.sql} order by received_id, position`,
    [among.value],
  );
}

/** Returns a page of attachments. Reads one row more than asked, to learn whether there is another page. */
export async function receivedAttachmentPage(
  db: Executor,
  emailId: string,
  page: Page,
): Promise<{ rows: ReceivedAttachmentRow[]; hasMore: boolean }> {
  const cursor = page.after ?? page.before;
  const isBack = page.before !== undefined;
  const edge =
    cursor === undefined
      ? ''
      : `and position ${isBack ? '<' : '>'} (select position from received_attachments where id = ? and received_id = ?)`;
  const rows = await db.all<ReceivedAttachmentRow>(
    `select * from received_attachments where received_id = ? ${edge} order by position ${isBack ? 'desc' : 'asc'} limit ?`,
    [emailId, ...(cursor === undefined ? [] : [cursor, emailId]), page.limit + 1],
  );
  const kept = rows.slice(0, page.limit);
  return { rows: isBack ? kept.reverse() : kept, hasMore: rows.length > page.limit };
}

export const findReceivedAttachment = (
  db: Executor,
  emailId: string,
  id: string,
): Promise<ReceivedAttachmentRow | undefined> =>
  db.get<ReceivedAttachmentRow>('select * from received_attachments where received_id = ? and id = ?', [emailId, id]);

/** Removes received emails that are deleted from the inboxes they are in. */
export const removeFromInboxes =
  defineHook<(tx: Executor, ids: readonly string[]) => Promise<void>>('removeFromInboxes');

/**
 * Removes emails of one team with everything that belongs to them and frees their storage; returns those that existed,
 * and for each whether the blob store has contents of it.
 */
export async function removeReceivedRows(
  tx: Executor,
  teamId: string,
  ids: readonly string[],
): Promise<{ id: string; hasFiles: boolean }[]> {
  // Locked first, as in every transaction that adds to it, so that removing and receiving cannot deadlock.
  await lockStorage(tx, teamId);
  const among = uuidsIn(tx.dialect, 'id', ids);
  const gone = await tx.all<{ id: string; stored_bytes: number }>(
    `delete from received_emails where team_id = ? and ${among.sql} returning id, stored_bytes`,
    [teamId, among.value],
  );
  if (gone.length === 0) return [];
  const goneIds = gone.map((row) => row.id);
  const theirs = uuidsIn(tx.dialect, 'received_id', goneIds);
  await tx.run(`delete from received_bodies where ${theirs.sql}`, [theirs.value]);
  await tx.run(`delete from received_attachments where ${theirs.sql}`, [theirs.value]);
  const freed = gone.reduce((sum, row) => sum + Number(row.stored_bytes), 0);
  await addStorage(tx, teamId, -freed);
  const inRows = await removeContents(tx, goneIds);
  // The daily sweep removes the files of drafts that go with their thread.
  await removeFromInboxes.call(tx, goneIds);
  return goneIds.map((id) => ({ id, hasFiles: !inRows.has(id) }));
}

/** Lists the oldest emails of a team that were received before `beforeId`. */
export async function expiredReceivedIds(
  db: Executor,
  { teamId, beforeId }: { teamId: string; beforeId: string },
  limit: number,
): Promise<string[]> {
  const sql = 'select id from received_emails where team_id = ? and id < ? order by id limit ?';
  return (await db.all<{ id: string }>(sql, [teamId, beforeId, limit])).map((row) => row.id);
}
