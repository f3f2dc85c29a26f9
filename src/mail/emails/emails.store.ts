import { statesBefore, type LastEvent } from '../events/index.ts';
import {
  cutPage,
  pageSql,
  pageValues,
  rowsEnding,
  textsIn,
  uuidsIn,
  type Executor,
  type Page,
  type Value,
} from '../../platform/db/index.ts';
import { firstIdAt } from '../../platform/ids.ts';
import { insertContents, removeContents, type ContentRow, type FileRow } from '../contents/index.ts';
import { foldForSearch } from './search-text.ts';
import type { ArcChain } from '../../protocol/arc.ts';

/** A message that its client composed, sent unchanged except for what its domain tracks. */
export interface MessageRow {
  email_id: string;
  /** The headers, each with its line end; signatures come before and the empty line after them when it is sent. */
  head: string;
  /** One character for each byte; null if the body is stored separately. */
  body: string | null;
  body_bytes: number;
  /** Body hash for the DKIM signature. */
  body_hash: string;
  /** HTML parts in which links can be tracked; JSON. */
  html_parts: string | null;
  is_eight_bit: number;
  needs_smtp_utf8: number;
  /**
   * For a forwarded message, the results that its ARC seal states for the seals before it. Null if it is signed
   * instead.
   */
  arc_chain: ArcChain | null;
}

const COLUMNS = [
  'email_id',
  'head',
  'body',
  'body_bytes',
  'body_hash',
  'html_parts',
  'is_eight_bit',
  'needs_smtp_utf8',
  'arc_chain',
] as const;

export const MESSAGE_BLOB = 'message';

async function insertMessages(tx: Executor, rows: readonly MessageRow[]): Promise<void> {
  if (rows.length === 0) return;
  await tx.insertMany(
    'email_messages',
    COLUMNS,
    rows.map((row) => COLUMNS.map((column) => row[column])),
  );
}

export const findMessage = (db: Executor, emailId: string): Promise<MessageRow | undefined> =>
  db.get<MessageRow>('select * from email_messages where email_id = ?', [emailId]);

/** Deletes messages; returns the emails whose body was stored elsewhere. */
async function deleteMessages(tx: Executor, emailIds: readonly string[]): Promise<string[]> {
  const among = uuidsIn(tx.dialect, 'email_id', emailIds);
  const sql = `delete from email_messages where ${among.sql} returning email_id, case when body is null then 1 else 0 end as elsewhere`;
  const gone = await tx.all<{ email_id: string; elsewhere: number }>(sql, [among.value]);
  return gone.filter((row) => row.elsewhere === 1).map((row) => row.email_id);
}

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
  /** Its client composed it: the message that is sent is in `email_messages`. */
  has_message: number;
  last_event: LastEvent;
  created_at: number;
  scheduled_at: number | null;
  search_text: string;
  /** The envelope sender of a forwarded message, empty for notices; null if a return path is made for it. */
  mail_from: string | null;
  /** Options that its client gave over SMTP (`protocol/dsn`), as JSON; null if there were none. */
  asked: string | null;
  broadcast_id: string | null;
  /** The automation whose run sent it. */
  automation_id: string | null;
  is_marketing: number;
  /** 1 if other mail, and the webhooks of other mail, go first. */
  is_bulk: number;
  /** Depth of the run of an automation that sent it; null for other emails. */
  run_depth: number | null;
  /** It contains a token of a person, so the team whose domain it is sent from may not read it. */
  is_account_mail: number;
  /** The request or SMTP session in which it was accepted; null if it was accepted before that was stored. */
  request_id: string | null;
  /** The contact that a broadcast or an automation wrote it for. */
  contact_id: string | null;
  /** Start of its first delivery: its Date, and the time of its signature. Written by the claim. */
  first_attempt_at: number | null;
}

export interface BodyRow {
  email_id: string;
  html: string | null;
  text: string | null;
  html_in_blob: number;
  text_in_blob: number;
  /** A body that it shares with other emails, and the values of its own recipient in it, as JSON (`SharedValues`). */
  shared_body_id: string | null;
  merge_values: string | null;
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
  /** Its position, encoded, in the body of a message that its client composed; null for a separate file. */
  message_start: number | null;
  message_end: number | null;
  message_encoding: string | null;
}

export interface NewEmailRows {
  email: EmailRow;
  body: BodyRow;
  attachments: AttachmentRow[];
  contents: (ContentRow | FileRow)[];
  message?: MessageRow | undefined;
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
  'has_message',
  'last_event',
  'created_at',
  'scheduled_at',
  'search_text',
  'mail_from',
  'asked',
  'broadcast_id',
  'automation_id',
  'run_depth',
  'is_marketing',
  'is_bulk',
  'is_account_mail',
  'request_id',
  'contact_id',
] as const;
const BODY_COLUMNS = [
  'email_id',
  'html',
  'text',
  'html_in_blob',
  'text_in_blob',
  'shared_body_id',
  'merge_values',
] as const;
const ATTACHMENT_COLUMNS = [
  'id',
  'email_id',
  'position',
  'filename',
  'content_type',
  'content_disposition',
  'content_id',
  'size',
  'message_start',
  'message_end',
  'message_encoding',
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
  const tags = emails.flatMap(({ email }) => listTagKeys(email));
  if (tags.length > 0) await tx.insertMany('email_tags', ['team_id', 'tag', 'email_id'], tags);
  await insertMessages(
    tx,
    emails.flatMap(({ message }) => message ?? []),
  );
  await insertContents(
    tx,
    emails.flatMap(({ contents }) => contents),
  );
  const attachments = emails.flatMap((email) => email.attachments);
  if (attachments.length === 0) return;
  await tx.insertMany(
    'email_attachments',
    ATTACHMENT_COLUMNS,
    attachments.map((row) => ATTACHMENT_COLUMNS.map((column) => row[column])),
  );
}

/** Formats a tag for look-ups: neither its name nor its value may contain a colon. */
const writeTag = ({ name, value }: { name: string; value: string }): string => `${name}:${value}`;

/** Lists the keys of the rows that find an email by its tags. */
function listTagKeys({ id, team_id: teamId, tags }: Pick<EmailRow, 'id' | 'team_id' | 'tags'>): string[][] {
  if (tags === null) return [];
  const written = (JSON.parse(tags) as { name: string; value: string }[]).map(writeTag);
  return [...new Set(written)].map((tag) => [teamId, tag, id]);
}

/**
 * Moves emails forward to `state`; those that are there or further stay. Returns the ids that moved, each of them once:
 * the caller that gets an id records the event.
 */
export async function advanceLastEvent(tx: Executor, emailIds: readonly string[], state: LastEvent): Promise<string[]> {
  if (emailIds.length === 0) return [];
  const among = uuidsIn(tx.dialect, 'id', emailIds);
  const before = textsIn(tx.dialect, 'last_event', statesBefore(state));
  const sql = `update emails set last_event = ? where ${among.sql} and ${before.sql} returning id`;
  return (await tx.all<{ id: string }>(sql, [state, among.value, before.value])).map((row) => row.id);
}

/**
 * Moves emails whose delivery begins forward to `sent`, and stores the time of the first attempt of those that had
 * none. Returns the ids that moved, as `advanceLastEvent` does.
 */
export async function beginAttempts(tx: Executor, emailIds: readonly string[], at: number): Promise<string[]> {
  if (emailIds.length === 0) return [];
  const before = textsIn(tx.dialect, 'last_event', statesBefore('sent'));
  const among = uuidsIn(tx.dialect, 'id', emailIds);
  const move = `update emails set last_event = 'sent', first_attempt_at = coalesce(first_attempt_at, ?)
    where ${among.sql} and ${before.sql} returning id`;
  const moved = (await tx.all<{ id: string }>(move, [at, among.value, before.value])).map(({ id }) => id);
  const isMoved = new Set(moved);
  const others = emailIds.filter((id) => !isMoved.has(id));
  if (others.length === 0) return moved;
  const amongOthers = uuidsIn(tx.dialect, 'id', others);
  const date = `update emails set first_attempt_at = ? where ${amongOthers.sql} and first_attempt_at is null`;
  await tx.run(date, [at, amongOthers.value]);
  return moved;
}

/**
 * Forgets the first attempt of emails of which nothing can have been sent: no mail server was contacted, and no
 * delivery of them is under way or in doubt.
 */
export async function forgetFirstAttempts(tx: Executor, emailIds: readonly string[]): Promise<void> {
  if (emailIds.length === 0) return;
  const among = uuidsIn(tx.dialect, 'id', emailIds);
  const sql = `update emails set first_attempt_at = null where ${among.sql}
    and not exists (select 1 from delivery_attempts a where a.email_id = emails.id and a.mx is not null)
    and not exists (select 1 from deliveries d where d.email_id = emails.id
      and (d.lease_owner is not null or d.handed_off_at is not null))`;
  await tx.run(sql, [among.value]);
}

/** Cancels a scheduled email for good; returns false if it was not scheduled any more. */
export const cancelScheduled = async (tx: Executor, id: string): Promise<boolean> =>
  (await tx.run(`update emails set last_event = 'canceled' where id = ? and last_event = 'scheduled'`, [id])) === 1;

export const moveScheduled = async (tx: Executor, id: string, at: number): Promise<boolean> =>
  (await tx.run(`update emails set scheduled_at = ? where id = ? and last_event = 'scheduled'`, [at, id])) === 1;

export function emailRowsByIds(db: Executor, ids: readonly string[]): Promise<EmailRow[]> {
  const among = uuidsIn(db.dialect, 'id', ids);
  return db.all<EmailRow>(`select * from emails where ${among.sql}`, [among.value]);
}

/** Returns which of these emails concern an account of a person, of whatever team. */
export async function accountMailAmong(db: Executor, ids: readonly string[]): Promise<Set<string>> {
  if (ids.length === 0) return new Set();
  const among = uuidsIn(db.dialect, 'id', ids);
  const sql = `select id from emails where ${among.sql} and is_account_mail = 1`;
  return new Set((await db.all<{ id: string }>(sql, [among.value])).map(({ id }) => id));
}

/** Bytes in the rows of an email, and which of its texts are stored elsewhere. */
interface StoredSize {
  email_id: string;
  bytes: number;
  html_in_blob: number;
  text_in_blob: number;
}

export async function storedSizes(db: Executor, ids: readonly string[]): Promise<StoredSize[]> {
  const among = uuidsIn(db.dialect, 'body.email_id', ids);
  const texts = (table: string): string =>
    `coalesce(octet_length(${table}.html), 0) + coalesce(octet_length(${table}.text), 0)`;
  // A message contains its texts and files itself.
  const isOwn = 'message.email_id is null';
  const rows = await db.all<StoredSize>(
    `select body.email_id, case when ${isOwn} then body.html_in_blob else 0 end as html_in_blob,
        case when ${isOwn} then body.text_in_blob else 0 end as text_in_blob,
        case when ${isOwn} then ${texts('body')} + ${texts('shared')}
            + coalesce((select sum(size) from email_attachments where email_id = body.email_id), 0)
          else octet_length(message.head) + message.body_bytes end as bytes
      from email_bodies as body left join email_messages as message on message.email_id = body.email_id
        left join shared_bodies as shared on shared.id = body.shared_body_id
      where ${among.sql}`,
    [among.value],
  );
  return rows.map((row) => ({ ...row, bytes: Number(row.bytes) }));
}

export function bodyRowsByIds(db: Executor, ids: readonly string[]): Promise<BodyRow[]> {
  const among = uuidsIn(db.dialect, 'email_id', ids);
  return db.all<BodyRow>(`select * from email_bodies where ${among.sql}`, [among.value]);
}

export function listEmailAttachments(db: Executor, emailIds: readonly string[]): Promise<AttachmentRow[]> {
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
  /** In the form `name:value`. */
  tag?: string | undefined;
}

export async function listEmailRows(
  db: Executor,
  teamId: string,
  filter: EmailRowFilter,
  page: Page,
): Promise<{ rows: EmailRow[]; hasMore: boolean }> {
  const { where, values } = buildConditions(db, teamId, filter);
  const sql = pageSql('emails', where.join(' and '), page);
  return cutPage(await db.all<EmailRow>(sql, [...values, ...pageValues(page)]), page);
}

/** Lists emails whose id ends with `end`. */
export const emailRowsEnding = (db: Executor, teamId: string, end: string, page: Page) =>
  rowsEnding<EmailRow>(db, { ...LISTED, where: { sql: 'team_id = ?', values: [teamId] } }, end, page);

const LISTED = { table: 'emails', columns: '*', id: 'id', form: 'uuid', noun: 'emails' } as const;

/** Ids between edges: `from` and `to` are included, `above` and `below` are not. */
export interface IdRange {
  from?: string | undefined;
  to?: string | undefined;
  above?: string | undefined;
  below?: string | undefined;
}

interface IdSteps extends IdRange {
  order: 'desc' | 'asc';
}

/** Lists the first `limit` emails of a range that match the filter. */
export function emailsBetween(
  db: Executor,
  teamId: string,
  filter: EmailRowFilter,
  { order, limit, ...range }: IdSteps & { limit: number },
): Promise<EmailRow[]> {
  const { where, values } = buildConditions(db, teamId, filter);
  const edges = buildEdges(range);
  const sql = `select * from emails where ${[...where, ...edges.where].join(' and ')} order by id ${order} limit ?`;
  return db.all<EmailRow>(sql, [...values, ...edges.values, limit]);
}

/**
 * Lists the first `limit` emails of a range that have a tag and match the filter. The tag is looked up first, whatever
 * share of the emails has it.
 */
export function taggedBetween(
  db: Executor,
  teamId: string,
  { tag, ...filter }: EmailRowFilter & { tag: string },
  { order, limit, ...range }: IdSteps & { limit: number },
): Promise<EmailRow[]> {
  const edges = buildEdges(range, 'email_id');
  const { where, values } = buildConditions(db, teamId, filter);
  // SQLite keeps the order of a cross join.
  const join = db.dialect === 'pg' ? 'join' : 'cross join';
  const sql = `select emails.* from (
      select email_id from email_tags where ${['team_id = ?', 'tag = ?', ...edges.where].join(' and ')}
    ) as tagged ${join} emails on emails.id = tagged.email_id
    where ${where.join(' and ')} order by tagged.email_id ${order} limit ?`;
  return db.all<EmailRow>(sql, [teamId, tag, ...edges.values, ...values, limit]);
}

/** Returns the id that comes after `skip` others of the range, among the emails with a tag. */
export async function taggedAfter(
  db: Executor,
  teamId: string,
  tag: string,
  { order, skip, ...range }: IdSteps & { skip: number },
): Promise<string | undefined> {
  const edges = buildEdges(range, 'email_id');
  const sql = `select email_id from email_tags
    where ${['team_id = ?', 'tag = ?', ...edges.where].join(' and ')} order by email_id ${order} limit 1 offset ?`;
  return (await db.get<{ email_id: string }>(sql, [teamId, tag, ...edges.values, skip]))?.email_id;
}

/** Returns the id that comes after `skip` others of the range; undefined if there are no more. */
export async function emailAfter(
  db: Executor,
  teamId: string,
  { order, skip, ...range }: IdSteps & { skip: number },
): Promise<string | undefined> {
  const { where, values } = buildEdges(range);
  const sql = `select id from emails where ${['team_id = ?', ...where].join(' and ')} order by id ${order} limit 1 offset ?`;
  return (await db.get<{ id: string }>(sql, [teamId, ...values, skip]))?.id;
}

export const oldestEmail = (db: Executor, teamId: string): Promise<string | undefined> =>
  emailAfter(db, teamId, { order: 'asc', skip: 0 });

export function searchTextsAfter(
  db: Executor,
  teamId: string,
  above: string | undefined,
  limit: number,
): Promise<Pick<EmailRow, 'id' | 'search_text'>[]> {
  const { where, values } = buildEdges({ above });
  const sql = `select id, search_text from emails where ${['team_id = ?', ...where].join(' and ')} order by id limit ?`;
  return db.all(sql, [teamId, ...values, limit]);
}

function buildConditions(db: Executor, teamId: string, filter: EmailRowFilter): { where: string[]; values: Value[] } {
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
  if (filter.tag !== undefined) {
    where.push('exists (select 1 from email_tags as t where t.team_id = ? and t.tag = ? and t.email_id = emails.id)');
    values.push(teamId, filter.tag);
  }
  return { where, values };
}

const EDGES = { from: '>=', to: '<=', above: '>', below: '<' } as const;

function buildEdges(range: IdRange, column = 'id'): { where: string[]; values: Value[] } {
  const edges = Object.entries(EDGES).flatMap(([name, sign]) => {
    const id = range[name as keyof IdRange];
    return id === undefined ? [] : [{ condition: `${column} ${sign} ?`, id }];
  });
  return { where: edges.map(({ condition }) => condition), values: edges.map(({ id }) => id) };
}

/**
 * Decides whether an email is finished, within the transaction that removes it: mail that waits, is under way or in
 * doubt still has its delivery, and the age of scheduled mail counts from the time it was scheduled for.
 */
const IS_OVER = `last_event not in ('queued', 'scheduled')
  and (scheduled_at is null or scheduled_at < ? or last_event = 'canceled')
  and not exists (select 1 from deliveries where deliveries.email_id = emails.id)`;

type Removed = Pick<EmailRow, 'id' | 'team_id' | 'tags' | 'attachment_count' | 'has_message'>;

/**
 * Removes emails; returns their ids, and for each whether the blob store has contents of it: an email's contents are
 * all in one place.
 */
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
