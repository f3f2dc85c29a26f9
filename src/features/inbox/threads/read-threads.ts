import type { QueryOf } from '../../../contract/index.ts';
import { mustBeAlone, type Executor, type Page } from '../../../platform/db/index.ts';
import { notFound, refuse } from '../../../platform/refusal.ts';
import type { Actor, Ctx } from '../../../tenancy/access/index.ts';
import {
  assigneesAmong,
  findThread,
  labelsOfThreads,
  listThreadRows,
  sentLast,
  threadRowsEnding,
  withDrafts,
  findThreadEmail,
  listThreadEmailRows,
  type ThreadEmail,
} from '../store/threads.store.ts';
import { presentThread, presentThreadItem, type ThreadSurroundings } from '../store/present.ts';
import { passedSince } from '../store/automatic-answers.store.ts';
import type { StoredFolder, ThreadRow } from '../store/rows.ts';
import { inboxNamed } from '../inboxes.ts';
import { listAnswering, type AnsweringRow } from '../store/answering.store.ts';
import { isoTime } from '../../../platform/clock.ts';
import type { Store } from '../../../platform/store.ts';
import {
  listEmailAttachments,
  emailRowsByIds,
  isWithheld,
  loadBodies,
  type EmailBody,
  type EmailRow,
} from '../../../mail/emails/index.ts';
import {
  loadReceivedBodies,
  readList,
  receivedAttachmentsOf,
  receivedByIds,
  type Authentication,
  type ReceivedEmailRow,
} from '../../../mail/received-emails/index.ts';
import { mustBeWithinQuota } from '../../../tenancy/usage/index.ts';
import { firstIdAt, timeOfId } from '../../../platform/ids.ts';
import { findAnswerLoop, LOOP_WINDOW_MS, type AnswerLoop } from '../rules/automatic-answers.ts';

/** Default folders: all but junk and trash. */
const WITHOUT_FOLDERS: readonly StoredFolder[] = ['inbox', 'automatic', 'archive', 'sent'];

export async function listInboxThreads(ctx: Ctx, named: string, query: QueryOf<'listInboxThreads'>, page: Page) {
  const inbox = await inboxNamed(ctx, named);
  if (query.snoozed === true && query.folders !== undefined) {
    throw refuse('invalid_parameter', {
      say: 'snoozed and folders cannot be used together, because snoozed threads are in no folder; send only one of them.',
    });
  }
  const folders = query.snoozed === true ? (['snoozed'] as const) : (foldersIn(query.folders) ?? WITHOUT_FOLDERS);
  const { id_end: end } = query;
  // `snoozed=false` is the default and filters nothing.
  if (end !== undefined) mustBeAlone({ ...query, snoozed: query.snoozed === true ? true : undefined });
  const filter = { inboxId: inbox.id, folders, read: query.read, labels: idsIn(query.labels) };
  const { rows, hasMore } =
    end === undefined
      ? await listThreadRows(ctx.store.db, filter, page)
      : await threadRowsEnding(ctx.store.db, inbox.id, end, page);
  return { object: 'list' as const, has_more: hasMore, data: await presentThreads(ctx, rows) };
}

export const foldersIn = (text: string | undefined): StoredFolder[] | undefined =>
  listIn(text) as StoredFolder[] | undefined;

/** Splits a list in one parameter, without duplicates. */
export const listIn = (text: string | undefined): string[] | undefined =>
  text === undefined ? undefined : [...new Set(text.split(','))];

export const idsIn = (text: string | undefined): string[] | undefined => listIn(text?.toLowerCase());

export async function presentThreads(ctx: Ctx, rows: readonly ThreadRow[]) {
  const around = await loadSurroundings(ctx, ctx.store.db, rows);
  const ids = rows.map((row) => row.id);
  const drafts = await withDrafts(ctx.store.db, ids);
  const ours = await sentLast(ctx.store.db, ids);
  return rows.map((row) => {
    const direction = ours.has(row.id) ? 'outbound' : 'inbound';
    return presentThreadItem(row, { ...around(row), hasDraft: drafts.has(row.id), direction });
  });
}

export async function getInboxThread(ctx: Ctx, named: string, threadId: string) {
  const row = await threadNamed(ctx, named, threadId);
  return presentWhole(ctx, ctx.store.db, row);
}

export async function presentWhole(ctx: Ctx, db: Executor, row: ThreadRow) {
  const around = await loadSurroundings(ctx, db, [row]);
  const loop = await answerLoopIn(db, row.id, ctx.store.clock.now());
  return presentThread(row, { ...around(row), loop });
}

/** Finds a thread of an inbox, which is named by its id or address; throws if there is none. */
export async function threadNamed(ctx: Ctx, named: string, threadId: string): Promise<ThreadRow> {
  const inbox = await inboxNamed(ctx, named);
  const row = await findThread(ctx.store.db, inbox.id, threadId);
  if (!row) throw notFound('Thread');
  return row;
}

async function loadSurroundings(
  ctx: Ctx,
  db: Executor,
  rows: readonly ThreadRow[],
): Promise<(row: ThreadRow) => Pick<ThreadSurroundings, 'labels' | 'assignee' | 'answering'>> {
  const ids = rows.map((row) => row.id);
  const labels = Map.groupBy(await labelsOfThreads(db, ids), (label) => label.thread_id);
  const findAnswering = await loadAnswering(ctx, db, ids);
  const assignees = await assigneesAmong(
    db,
    ctx.teamId,
    rows.flatMap((row) => row.assignee_id ?? []),
  );
  return ({ id, assignee_id: assigneeId }) => ({
    labels: labels.get(id) ?? [],
    assignee: assigneeId === null ? null : (assignees.get(assigneeId) ?? null),
    answering: findAnswering(id),
  });
}

/** A hundred bodies of 2 MB would be a page that no client can hold. */
const PAGE_CHARS_MAX = 4 * 1024 * 1024;

export async function listInboxThreadEmails(ctx: Ctx, named: string, threadId: string, page: Page) {
  const thread = await threadNamed(ctx, named, threadId);
  await mustBeWithinQuota(ctx);
  const { rows, hasMore } = await listThreadEmailRows(ctx.store.db, thread.id, page);
  // The limit counts from the end of the page that the next one joins.
  const inOrder = page.before === undefined ? rows : rows.toReversed();
  const data = await presentEmails(ctx.store, inOrder, PAGE_CHARS_MAX);
  if (page.before !== undefined) data.reverse();
  return { object: 'list' as const, has_more: hasMore || data.length < rows.length, data };
}

export async function getInboxThreadEmail(ctx: Ctx, named: string, threadId: string, emailId: string) {
  const thread = await threadNamed(ctx, named, threadId);
  const row = await findThreadEmail(ctx.store.db, thread.id, emailId);
  if (!row) throw notFound('Email');
  await mustBeWithinQuota(ctx);
  const [email] = await presentEmails(ctx.store, [row], Number.POSITIVE_INFINITY);
  if (!email) throw notFound('Email');
  return email;
}

/** Formats emails in the given order, as many as their bodies allow. Omits one that is being removed concurrently. */
async function presentEmails(store: Store, rows: readonly ThreadEmail[], charsMax: number) {
  const listIds = (direction: ThreadEmail['direction']): string[] =>
    rows.filter((row) => row.direction === direction).map((row) => row.email_id);
  const received = await readReceived(store, listIds('inbound'), charsMax);
  const sent = await readSent(store, listIds('outbound'), charsMax);
  const emails: (NonNullable<ReturnType<typeof received>> | NonNullable<ReturnType<typeof sent>>)[] = [];
  let chars = 0;
  for (const row of rows) {
    const email = row.direction === 'inbound' ? received(row) : sent(row);
    if (email === 'left out') break;
    if (email === undefined) continue;
    chars += (email.html?.length ?? 0) + (email.text?.length ?? 0);
    if (chars > charsMax && emails.length > 0) break;
    emails.push(email);
  }
  return emails.filter((email) => email !== 'left out');
}

async function readReceived(store: Store, ids: readonly string[], charsMax: number) {
  const rows = new Map((await receivedByIds(store.db, ids)).map((row) => [row.id, row]));
  const files = Map.groupBy(await receivedAttachmentsOf(store.db, ids), (file) => file.received_id);
  const bodies = await loadReceivedBodies(store, ids, charsMax);
  return ({ email_id: id, is_read: isRead }: ThreadEmail) => {
    const row = rows.get(id);
    if (!row) return undefined;
    const body = bodies.get(id);
    if (!body) return 'left out' as const;
    return {
      ...presentHead(row),
      direction: 'inbound' as const,
      html: body.html,
      text: body.text,
      attachments: (files.get(id) ?? []).map((file) => presentFile(file)),
      read: isRead === 1,
      last_event: null,
      verdict: readVerdict(row),
    };
  };
}

async function readSent(store: Store, ids: readonly string[], charsMax: number) {
  const rows = new Map((await emailRowsByIds(store.db, ids)).map((row) => [row.id, row]));
  const files = Map.groupBy(await listEmailAttachments(store.db, ids), (file) => file.email_id);
  const bodies = await loadBodies(store, store.db, ids, charsMax);
  return ({ email_id: id, is_read: isRead }: ThreadEmail) => {
    const row = rows.get(id);
    if (!row) return undefined;
    const stored = bodies.get(id);
    if (!stored) return 'left out' as const;
    const body: EmailBody = isWithheld(store, row) ? { html: null, text: null } : stored;
    return {
      ...presentHead(row),
      direction: 'outbound' as const,
      html: body.html,
      text: body.text,
      attachments: (files.get(id) ?? []).map((file) => presentFile(file)),
      read: isRead === 1,
      last_event: row.last_event as string | null,
      verdict: null,
    };
  };
}

const presentHead = (row: ReceivedEmailRow | EmailRow) => ({
  id: row.id,
  from: row.sender,
  to: readList(row.to_list),
  cc: readList(row.cc_list),
  bcc: readList(row.bcc_list),
  reply_to: readList(row.reply_to_list),
  subject: row.subject === '' ? null : row.subject,
  message_id: row.message_id === '' ? null : row.message_id,
  received_at: isoTime(Number(row.created_at)),
});

const presentFile = ({ id, filename, size }: { id: string; filename: string | null; size: number | string }) => ({
  id,
  filename,
  size: Number(size),
});

const readVerdict = ({ authentication }: ReceivedEmailRow): Authentication['verdict'] | null =>
  authentication === null ? null : (JSON.parse(authentication) as Authentication).verdict;

/**
 * Returns the loop because of which programs may not reply in a thread for now: two of them may be replying to each
 * other.
 */
export async function answerLoopIn(db: Executor, threadId: string, now: number): Promise<AnswerLoop | undefined> {
  const rows = await passedSince(db, threadId, firstIdAt(now - LOOP_WINDOW_MS));
  const passed = rows.map(({ email_id: id, direction, to_list: to, created_at: createdAt }) => ({
    direction,
    // An email past retention has only its id, which may run ahead of the clock.
    at: Number(createdAt ?? Math.min(timeOfId(id), now)),
    to: to === null ? [] : readList(to),
  }));
  return findAnswerLoop(passed, now);
}

/** Loads who is writing replies in threads; returns a function that presents the people of one thread. */
export async function loadAnswering({ store, teamId, actor }: Ctx, db: Executor, threadIds: readonly string[]) {
  const rows = await listAnswering(db, { teamId, threadIds, at: store.clock.now() });
  const byThread = Map.groupBy(rows, (row) => row.thread_id);
  return (threadId: string) => (byThread.get(threadId) ?? []).map((row) => presentPerson(row, actor));
}

const presentPerson = ({ user_id: userId, name, email, since }: AnsweringRow, actor: Actor) => ({
  name: name ?? email,
  email,
  since: isoTime(Number(since)),
  is_caller: actor.kind === 'session' && actor.userId === userId,
});
