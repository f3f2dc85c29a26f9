import { createHash } from 'node:crypto';
import { uuidsIn, cutPage, rowsEnding, type Executor, type Page, type Value } from '../../../platform/db/index.ts';
import { foldAccents } from '../../../mail/emails/index.ts';
import type { InboxEmailRow, InboxMail, KeyKind, StoredFolder, ThreadRow } from './rows.ts';

/** Characters of the text, and of the names of files, that are searched. */
const TEXT_SEARCHED = 2000;
const SNIPPET_MAX = 200;
/** Limit of what one email may add: a list of a thousand recipients must not make a thousand rows. */
const PARTICIPANTS_MAX = 50;
const IDS_MAX = 50;

const THREAD_COLUMNS = [
  'id',
  'team_id',
  'inbox_id',
  'subject',
  'subject_key',
  'folder',
  'is_read',
  'sort_id',
  'email_count',
  'has_attachment',
  'last_at',
  'sender',
  'to_list',
  'cc_list',
  'bcc_list',
  'snippet',
  'created_at',
] as const;
const EMAIL_COLUMNS = [
  'inbox_id',
  'email_id',
  'thread_id',
  'team_id',
  'direction',
  'is_read',
  'has_attachment',
  'sent_by',
  'from_text',
  'to_text',
  'cc_text',
  'bcc_text',
  'body_text',
] as const;

export const findThread = (db: Executor, inboxId: string, id: string): Promise<ThreadRow | undefined> =>
  db.get<ThreadRow>('select * from inbox_threads where inbox_id = ? and id = ?', [inboxId, id]);

/** Reads the thread and locks it until the end of the transaction. */
export function lockThread(tx: Executor, inboxId: string, id: string): Promise<ThreadRow | undefined> {
  const lock = tx.dialect === 'pg' ? 'for update' : '';
  return tx.get<ThreadRow>(`select * from inbox_threads where inbox_id = ? and id = ? ${lock}`, [inboxId, id]);
}

/** Begins a thread with an email. */
export async function insertThread(
  tx: Executor,
  { id, folder }: { id: string; folder: StoredFolder },
  mail: InboxMail,
): Promise<ThreadRow> {
  const row: ThreadRow = {
    id,
    team_id: mail.teamId,
    inbox_id: mail.inboxId,
    folder,
    created_at: mail.at,
    subject: mail.subject,
    subject_key: mail.subjectKey,
    email_count: 1,
    ...toNewestColumns(mail),
    is_read: mail.direction === 'outbound' ? 1 : 0,
    has_attachment: mail.fileNames.length > 0 ? 1 : 0,
    assignee_id: null,
    snoozed_until: null,
    notes: null,
    trashed_at: null,
  };
  await tx.insertMany('inbox_threads', THREAD_COLUMNS, [THREAD_COLUMNS.map((column) => row[column])]);
  await insertMail(tx, id, mail);
  return row;
}

/** Adds an email to a locked thread; `folder` is its folder from now on. */
export async function addToThread(
  tx: Executor,
  thread: ThreadRow,
  mail: InboxMail,
  folder: StoredFolder,
): Promise<ThreadRow> {
  const isRead = mail.direction === 'outbound' ? 1 : 0;
  const newest = toNewestColumns(mail);
  const hasAttachment = mail.fileNames.length > 0 ? 1 : thread.has_attachment;
  await tx.run(
    `update inbox_threads set folder = ?, is_read = ?, sort_id = ?, email_count = email_count + 1, has_attachment = ?,
      last_at = ?, sender = ?, to_list = ?, cc_list = ?, bcc_list = ?, snippet = ?, snoozed_until = null, trashed_at = null
      where id = ?`,
    [
      folder,
      isRead,
      newest.sort_id,
      hasAttachment,
      newest.last_at,
      newest.sender,
      newest.to_list,
      newest.cc_list,
      newest.bcc_list,
      newest.snippet,
      thread.id,
    ],
  );
  if (isRead === 1) await readEmails(tx, thread.id);
  await insertMail(tx, thread.id, mail);
  const now = {
    ...thread,
    ...newest,
    folder,
    is_read: isRead,
    has_attachment: hasAttachment,
    snoozed_until: null,
    trashed_at: null,
    email_count: thread.email_count + 1,
  };
  await copyToLabels(tx, now);
  return now;
}

const toNewestColumns = (mail: InboxMail) => ({
  sort_id: mail.emailId,
  last_at: mail.at,
  sender: mail.from,
  to_list: JSON.stringify(mail.to),
  cc_list: JSON.stringify(mail.cc),
  bcc_list: JSON.stringify(mail.bcc),
  snippet: buildSnippet(mail.text),
});

/** Returns the beginning of a text as one line, without splitting a surrogate pair. */
export function buildSnippet(text: string): string {
  const start = text
    .slice(0, 4 * SNIPPET_MAX)
    .replaceAll(/\s+/g, ' ')
    .trim();
  return start
    .slice(0, SNIPPET_MAX)
    .toWellFormed()
    .replace(/\uFFFD$/, '');
}

async function insertMail(tx: Executor, threadId: string, mail: InboxMail): Promise<void> {
  const fold = (texts: readonly string[]): string => texts.map(foldAccents).join('\n');
  const row: InboxEmailRow = {
    inbox_id: mail.inboxId,
    email_id: mail.emailId,
    thread_id: threadId,
    team_id: mail.teamId,
    direction: mail.direction,
    is_read: mail.direction === 'outbound' ? 1 : 0,
    has_attachment: mail.fileNames.length > 0 ? 1 : 0,
    sent_by: mail.sentBy ?? null,
    from_text: fold([mail.from]),
    to_text: fold(mail.to),
    cc_text: fold(mail.cc),
    bcc_text: fold(mail.bcc),
    body_text: fold([
      mail.subject,
      mail.text.slice(0, TEXT_SEARCHED),
      mail.fileNames.join('\n').slice(0, TEXT_SEARCHED),
    ]),
  };
  await tx.insertMany('inbox_emails', EMAIL_COLUMNS, [EMAIL_COLUMNS.map((column) => row[column])]);
  const keys = mail.keys.slice(0, IDS_MAX);
  if (keys.length > 0) {
    const own = mail.subject.slice(0, 300).toWellFormed();
    await tx.insertMany(
      'inbox_message_ids',
      ['inbox_id', 'id_key', 'thread_id', 'kind', 'subject'],
      [...new Map(keys.map(({ key, kind }) => [messageIdKey(key), kind]))].map(([key, kind]) => [
        mail.inboxId,
        key,
        threadId,
        kind,
        kind === 'referenced' ? null : own,
      ]),
      `on conflict (inbox_id, id_key, thread_id) do update set kind = excluded.kind, subject = excluded.subject
        where inbox_message_ids.kind = 'referenced'`,
    );
  }
  const people = [...new Set(mail.participants.slice(0, PARTICIPANTS_MAX).map(participantKey))];
  if (people.length > 0) {
    await tx.insertMany(
      'inbox_participants',
      ['inbox_id', 'address_key', 'thread_id'],
      people.map((key) => [mail.inboxId, key, threadId]),
      'on conflict (inbox_id, address_key, thread_id) do nothing',
    );
  }
}

const messageIdKey = (id: string): string => createHash('sha256').update(id).digest('base64url').slice(0, 24);

/** Cuts longer addresses, because an index stores them. */
const participantKey = (address: string): string => address.slice(0, 400).toWellFormed();

/** Number of threads of one sender, or of one id, that are searched, newest first. */
const CANDIDATES_MAX = 500;

/** A thread that may continue, and the key that found it. */
export interface Candidate {
  threadId: string;
  inboxId: string;
  key: string | null;
  keyKind: KeyKind | null;
  /** Subjects of the email that has the id, and of the thread. */
  subjects: string[];
  participants: ReadonlySet<string>;
  lastMessageAt: number;
}

interface Found {
  thread_id: string;
  id_key: string;
  kind: KeyKind;
  subject: string | null;
}

/**
 * Returns threads that have one of these ids and in which an address takes part, or all of them if no address is given.
 * Searches from both sides, because either may have very many: the sender of all alarms, the id of a newsletter.
 */
export async function candidatesByIds(
  db: Executor,
  inboxId: string,
  { keys, sender }: { keys: readonly string[]; sender: string | undefined },
): Promise<Candidate[]> {
  if (keys.length === 0) return [];
  const byHash = new Map(keys.map((key) => [messageIdKey(key), key]));
  const hashes = [...byHash.keys()];
  const list = hashes.map(() => '?').join(', ');
  const withId = `select thread_id, id_key, kind, subject from inbox_message_ids where inbox_id = ? and id_key in (${list})
    order by thread_id desc limit ?`;
  const found =
    sender === undefined
      ? await db.all<Found>(withId, [inboxId, ...hashes, CANDIDATES_MAX])
      : await db.all<Found>(
          `select m.thread_id, m.id_key, m.kind, m.subject from (${OF_SENDER}) p
            join inbox_message_ids m on m.inbox_id = ? and m.thread_id = p.thread_id and m.id_key in (${list})
          union
          select m.thread_id, m.id_key, m.kind, m.subject from (${withId}) m
            join inbox_participants p on p.inbox_id = ? and p.address_key = ? and p.thread_id = m.thread_id`,
          [
            inboxId,
            participantKey(sender),
            CANDIDATES_MAX,
            inboxId,
            ...hashes,
            inboxId,
            ...hashes,
            CANDIDATES_MAX,
            inboxId,
            participantKey(sender),
          ],
        );
  const threads = await threadsByIds(db, [...new Set(found.map((row) => row.thread_id))]);
  const byId = new Map(threads.map((thread) => [thread.id, thread]));
  return found.flatMap(({ thread_id: id, id_key: hash, kind, subject }) => {
    const thread = byId.get(id);
    const key = byHash.get(hash);
    if (!thread || key === undefined) return [];
    const subjects = subject === null ? [thread.subject] : [subject, thread.subject];
    return [{ ...toCandidate(thread, sender), key, keyKind: kind, subjects }];
  });
}

const OF_SENDER =
  'select thread_id from inbox_participants where inbox_id = ? and address_key = ? order by thread_id desc limit ?';

/** Returns the thread of a reply address, if the sender takes part in it. */
export async function candidateAddressed(
  db: Executor,
  inboxId: string,
  { threadId, sender }: { threadId: string; sender: string | undefined },
): Promise<Candidate[]> {
  const thread = await findThread(db, inboxId, threadId);
  if (!thread) return [];
  const sql = 'select 1 as found from inbox_participants where inbox_id = ? and address_key = ? and thread_id = ?';
  const takesPart =
    sender === undefined || (await db.get(sql, [inboxId, participantKey(sender), threadId])) !== undefined;
  return takesPart ? [toCandidate(thread, sender)] : [];
}

/** Returns threads of a sender with a subject that had mail since a time. */
export async function candidatesBySubject(
  db: Executor,
  inboxId: string,
  { sender, subjectKey, since }: { sender: string; subjectKey: string; since: number },
): Promise<Candidate[]> {
  const rows = await db.all<ThreadRow>(
    `select t.* from (${OF_SENDER}) p join inbox_threads t on t.id = p.thread_id
      where t.subject_key = ? and t.last_at >= ? order by t.sort_id desc limit 10`,
    [inboxId, participantKey(sender), CANDIDATES_MAX, subjectKey, since],
  );
  return rows.map((thread) => toCandidate(thread, sender));
}

const toCandidate = (thread: ThreadRow, sender: string | undefined): Candidate => ({
  threadId: thread.id,
  inboxId: thread.inbox_id,
  key: null,
  keyKind: null,
  subjects: [thread.subject],
  participants: new Set(sender === undefined ? [] : [sender]),
  lastMessageAt: Number(thread.last_at),
});

export function threadsByIds(db: Executor, ids: readonly string[]): Promise<ThreadRow[]> {
  const among = uuidsIn(db.dialect, 'id', ids);
  return db.all<ThreadRow>(`select * from inbox_threads where ${among.sql}`, [among.value]);
}

export type ThreadChange = Partial<
  Pick<ThreadRow, 'folder' | 'is_read' | 'sort_id' | 'assignee_id' | 'snoozed_until' | 'notes' | 'trashed_at'>
>;

export async function updateThreadRow(tx: Executor, thread: ThreadRow, change: ThreadChange): Promise<ThreadRow> {
  const fields = Object.keys(change) as (keyof ThreadChange)[];
  if (fields.length === 0) return thread;
  const set = fields.map((field) => `${field} = ?`).join(', ');
  const values = fields.map((field) => change[field] ?? null);
  await tx.run(`update inbox_threads set ${set} where id = ?`, [...values, thread.id]);
  const now = { ...thread, ...change };
  await copyToLabels(tx, now);
  return now;
}

async function copyToLabels(tx: Executor, { id, folder, is_read, sort_id }: ThreadRow): Promise<void> {
  const sql = 'update inbox_thread_labels set folder = ?, is_read = ?, sort_id = ? where thread_id = ?';
  await tx.run(sql, [folder, is_read, sort_id, id]);
}

export async function readEmails(tx: Executor, threadId: string): Promise<void> {
  await tx.run('update inbox_emails set is_read = 1 where thread_id = ? and is_read = 0', [threadId]);
}

/** Marks the newest received email as unread. */
export async function unreadNewest(tx: Executor, threadId: string): Promise<void> {
  await tx.run(
    `update inbox_emails set is_read = 0 where thread_id = ? and email_id =
      (select email_id from inbox_emails where thread_id = ? and direction = 'inbound' order by email_id desc limit 1)`,
    [threadId, threadId],
  );
}

export interface ThreadFilter {
  inboxId: string;
  folders: readonly StoredFolder[];
  read: boolean | undefined;
  /** The thread has one of these. */
  labels: readonly string[] | undefined;
}

/**
 * Lists threads. Each folder, and each label, is read in the order of its own index, and the results are merged, so a
 * page costs the same in an inbox of any size.
 */
export async function listThreadRows(
  db: Executor,
  filter: ThreadFilter,
  page: Page,
): Promise<{ rows: ThreadRow[]; hasMore: boolean }> {
  const edge = await findSortId(db, filter.inboxId, page.after ?? page.before);
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
          from: 'inbox_thread_labels',
          id: 'thread_id',
          by: 'label_id',
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
  return cutPage(rows, page);
}

/** Finds threads in all folders whose id ends so, the most recently begun first. */
export const threadRowsEnding = (db: Executor, inboxId: string, end: string, page: Page) =>
  rowsEnding<ThreadRow>(db, { ...BY_END, where: { sql: 'inbox_id = ?', values: [inboxId] } }, end, page);

const BY_END = { table: 'inbox_threads', columns: '*', id: 'id', form: 'uuid', noun: 'threads' } as const;

/** Returns the sort position of a thread; one that is gone is placed where it began. */
async function findSortId(db: Executor, inboxId: string, id: string | undefined): Promise<string | undefined> {
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

/** Lists the labels of threads, by name. */
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

/** Returns those of the threads that have an unsent draft. */
export async function withDrafts(db: Executor, threadIds: readonly string[]): Promise<Set<string>> {
  if (threadIds.length === 0) return new Set();
  const among = uuidsIn(db.dialect, 'thread_id', threadIds);
  const rows = await db.all<{ thread_id: string }>(
    `select distinct thread_id from inbox_drafts where thread_id is not null and ${among.sql} and email_id is null`,
    [among.value],
  );
  return new Set(rows.map((row) => row.thread_id));
}

/** Returns those of the threads whose newest email was sent by the inbox. */
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

/** Returns the addresses of these users, as far as they are in the team. */
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

/** Reports whether the inbox has sent an email in the thread. */
export async function hasSent(db: Executor, threadId: string): Promise<boolean> {
  const sql = "select 1 as found from inbox_emails where thread_id = ? and direction = 'outbound' limit 1";
  return (await db.get(sql, [threadId])) !== undefined;
}

export type ThreadEmail = Pick<InboxEmailRow, 'email_id' | 'direction' | 'is_read'>;

/** Lists the emails of a thread, newest first. */
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
  return cutPage(rows, page);
}

export const findThreadEmail = (db: Executor, threadId: string, emailId: string): Promise<ThreadEmail | undefined> =>
  db.get<ThreadEmail>('select email_id, direction, is_read from inbox_emails where thread_id = ? and email_id = ?', [
    threadId,
    emailId,
  ]);
