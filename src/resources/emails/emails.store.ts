import { statesBefore, type LastEvent } from '../../events/index.ts';
import {
  pageOf,
  pageSql,
  pageValues,
  textsIn,
  uuidsIn,
  type Executor,
  type Page,
  type Value,
} from '../../platform/db/index.ts';
import { firstIdAt } from '../../platform/ids/index.ts';
import { foldForSearch } from './search-text.ts';

/** Lists are JSON text; they are written once and read whole. */
export interface EmailRow {
  id: string;
  team_id: string;
  api_key_id: string | null;
  domain_id: string;
  sender: string;
  to_list: string;
  cc_list: string | null;
  bcc_list: string | null;
  reply_to_list: string | null;
  subject: string;
  message_id: string;
  tags: string | null;
  headers: string | null;
  topic_id: string | null;
  template_id: string | null;
  attachment_count: number;
  last_event: LastEvent;
  created_at: number;
  scheduled_at: number | null;
  search_text: string;
}

export interface BodyRow {
  email_id: string;
  html: string | null;
  text: string | null;
  html_in_blob: number;
  text_in_blob: number;
}

export interface AttachmentRow {
  id: string;
  email_id: string;
  position: number;
  filename: string;
  content_type: string;
  content_disposition: 'attachment' | 'inline';
  content_id: string | null;
  size: number;
}

export interface NewEmailRows {
  email: EmailRow;
  body: BodyRow;
  attachments: AttachmentRow[];
}

const EMAIL_COLUMNS = [
  'id',
  'team_id',
  'api_key_id',
  'domain_id',
  'sender',
  'to_list',
  'cc_list',
  'bcc_list',
  'reply_to_list',
  'subject',
  'message_id',
  'tags',
  'headers',
  'topic_id',
  'template_id',
  'attachment_count',
  'last_event',
  'created_at',
  'scheduled_at',
  'search_text',
] as const;
const BODY_COLUMNS = ['email_id', 'html', 'text', 'html_in_blob', 'text_in_blob'] as const;
const ATTACHMENT_COLUMNS = [
  'id',
  'email_id',
  'position',
  'filename',
  'content_type',
  'content_disposition',
  'content_id',
  'size',
] as const;

export async function insertEmails(tx: Executor, emails: readonly NewEmailRows[]): Promise<void> {
  await tx.insertMany(
    'emails',
    EMAIL_COLUMNS,
    emails.map(({ email }) => EMAIL_COLUMNS.map((column) => email[column])),
  );
  await tx.insertMany(
    'email_bodies',
    BODY_COLUMNS,
    emails.map(({ body }) => BODY_COLUMNS.map((column) => body[column])),
  );
  const attachments = emails.flatMap((email) => email.attachments);
  if (attachments.length === 0) return;
  await tx.insertMany(
    'email_attachments',
    ATTACHMENT_COLUMNS,
    attachments.map((row) => ATTACHMENT_COLUMNS.map((column) => row[column])),
  );
}

/**
 * Moves emails forward to `state`; those that are there or further stay. Answers the ids that moved, each of them
 * once: whoever gets an id records the event.
 */
export async function advanceLastEvent(tx: Executor, emailIds: readonly string[], state: LastEvent): Promise<string[]> {
  if (emailIds.length === 0) return [];
  const among = uuidsIn(tx.dialect, 'id', emailIds);
  const before = textsIn(tx.dialect, 'last_event', statesBefore(state));
  const sql = `update emails set last_event = ? where ${among.sql} and ${before.sql} returning id`;
  return (await tx.all<{ id: string }>(sql, [state, among.value, before.value])).map((row) => row.id);
}

/** Whether it was scheduled still; from then on it is canceled for good. */
export const cancelScheduled = async (tx: Executor, id: string): Promise<boolean> =>
  (await tx.run(`update emails set last_event = 'canceled' where id = ? and last_event = 'scheduled'`, [id])) === 1;

export const moveScheduled = async (tx: Executor, id: string, at: number): Promise<boolean> =>
  (await tx.run(`update emails set scheduled_at = ? where id = ? and last_event = 'scheduled'`, [at, id])) === 1;

export function emailRowsByIds(db: Executor, ids: readonly string[]): Promise<EmailRow[]> {
  const among = uuidsIn(db.dialect, 'id', ids);
  return db.all<EmailRow>(`select * from emails where ${among.sql}`, [among.value]);
}

export function bodyRowsByIds(db: Executor, ids: readonly string[]): Promise<BodyRow[]> {
  const among = uuidsIn(db.dialect, 'email_id', ids);
  return db.all<BodyRow>(`select * from email_bodies where ${among.sql}`, [among.value]);
}

export function attachmentsOf(db: Executor, emailIds: readonly string[]): Promise<AttachmentRow[]> {
  const among = uuidsIn(db.dialect, 'email_id', emailIds);
  return db.all<AttachmentRow>(`select * from email_attachments where ${among.sql} order by email_id, position`, [
    among.value,
  ]);
}

export const findEmail = (db: Executor, teamId: string, id: string): Promise<EmailRow | undefined> =>
  db.get<EmailRow>('select * from emails where team_id = ? and id = ?', [teamId, id]);

export interface EmailRowFilter {
  status?: LastEvent | undefined;
  apiKeyId?: string | undefined;
  /** Milliseconds, both inclusive. */
  createdFrom?: number | undefined;
  createdTo?: number | undefined;
  search?: string | undefined;
}

export async function listEmailRows(
  db: Executor,
  teamId: string,
  filter: EmailRowFilter,
  page: Page,
): Promise<{ rows: EmailRow[]; hasMore: boolean }> {
  const where = ['team_id = ?'];
  const values: Value[] = [teamId];
  const narrow = (condition: string, value: Value): void => {
    where.push(condition);
    values.push(value);
  };
  if (filter.apiKeyId !== undefined) narrow('api_key_id = ?', filter.apiKeyId);
  if (filter.status !== undefined) narrow('last_event = ?', filter.status);
  if (filter.createdFrom !== undefined) narrow('id >= ?', firstIdAt(filter.createdFrom));
  if (filter.createdTo !== undefined) narrow('id < ?', firstIdAt(filter.createdTo + 1));
  if (filter.search !== undefined) {
    const position = db.dialect === 'pg' ? 'strpos(search_text, ?) > 0' : 'instr(search_text, ?) > 0';
    narrow(position, foldForSearch(filter.search));
  }
  const sql = pageSql('emails', where.join(' and '), page);
  return pageOf(await db.all<EmailRow>(sql, [...values, ...pageValues(page)]), page);
}
