import type { QueryOf } from '../../../contract/index.ts';
import { mustBeAlone, type Executor, type Page } from '../../../platform/db/index.ts';
import { notFound, refuse } from '../../../platform/refusal/index.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import {
  assigneesAmong,
  findThread,
  labelsOfThreads,
  listThreadRows,
  presentThread,
  presentThreadItem,
  sentLast,
  threadRowsEnding,
  withDrafts,
  type StoredFolder,
  type ThreadRow,
  type ThreadSurroundings,
} from '../inbox-rows/index.ts';
import { inboxNamed } from '../inboxes/index.ts';
import { answerLoopIn } from './answers-paused.ts';

/** Without a filter: all but junk and trash. */
const WITHOUT_FOLDERS: readonly StoredFolder[] = ['inbox', 'archive', 'sent'];

export async function listInboxThreads(ctx: Ctx, named: string, query: QueryOf<'listInboxThreads'>, page: Page) {
  const inbox = await inboxNamed(ctx, named);
  if (query.snoozed === true && query.folders !== undefined) {
    throw refuse('invalid_parameter', {
      say: 'Give only one of snoozed and folders; what is snoozed is in none of them.',
    });
  }
  const folders = query.snoozed === true ? (['snoozed'] as const) : (foldersIn(query.folders) ?? WITHOUT_FOLDERS);
  const { id_end: end } = query;
  // What is not snoozed is what one gets without that filter.
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

/** A list in one parameter, each once. */
export const listIn = (text: string | undefined): string[] | undefined =>
  text === undefined ? undefined : [...new Set(text.split(','))];

export const idsIn = (text: string | undefined): string[] | undefined => listIn(text?.toLowerCase());

export async function presentThreads(ctx: Ctx, rows: readonly ThreadRow[]) {
  const around = await surroundingsOf(ctx.store.db, ctx.teamId, rows);
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
  return presentWhole(ctx.store.db, row, ctx.store.clock.now());
}

export async function presentWhole(db: Executor, row: ThreadRow, now: number) {
  const around = await surroundingsOf(db, row.team_id, [row]);
  const loop = await answerLoopIn(db, row.id, now);
  return presentThread(row, { ...around(row), loop });
}

/** Of an inbox by its id or its address; refused where there is none. */
export async function threadNamed(ctx: Ctx, named: string, threadId: string): Promise<ThreadRow> {
  const inbox = await inboxNamed(ctx, named);
  const row = await findThread(ctx.store.db, inbox.id, threadId);
  if (!row) throw notFound('Thread');
  return row;
}

async function surroundingsOf(
  db: Executor,
  teamId: string,
  rows: readonly ThreadRow[],
): Promise<(row: ThreadRow) => Pick<ThreadSurroundings, 'labels' | 'assignee'>> {
  const labels = Map.groupBy(
    await labelsOfThreads(
      db,
      rows.map((row) => row.id),
    ),
    (label) => label.thread_id,
  );
  const assignees = await assigneesAmong(
    db,
    teamId,
    rows.flatMap((row) => row.assignee_id ?? []),
  );
  return ({ id, assignee_id: assigneeId }) => ({
    labels: labels.get(id) ?? [],
    assignee: assigneeId === null ? null : (assignees.get(assigneeId) ?? null),
  });
}
