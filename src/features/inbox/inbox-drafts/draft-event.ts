import { recordEvents } from '../../../mail/events/index.ts';
import type { Executor } from '../../../platform/db/index.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import {
  findThread,
  labelsOfThreads,
  sourceOf,
  threadData,
  type DraftFileRow,
  type DraftRow,
} from '../inbox-rows/index.ts';
import { draftForEvent } from './present.ts';

/** Records what was done to a draft, in the transaction in which it is done. */
export async function recordDraftEvent(
  ctx: Ctx,
  tx: Executor,
  type: 'inbox.draft.created' | 'inbox.draft.updated' | 'inbox.draft.deleted',
  { row, files, at }: { row: DraftRow; files: readonly DraftFileRow[]; at: number },
): Promise<void> {
  const source = sourceOf(ctx.actor);
  const { id, team_id: teamId, inbox_id, thread_id: threadId } = row;
  const thread = threadId === null ? undefined : await findThread(tx, inbox_id, threadId);
  const about = thread
    ? threadData(source, thread, await labelsOfThreads(tx, [thread.id]))
    : { source, inbox_id, ...(threadId === null ? {} : { thread_id: threadId }) };
  const data = { ...about, draft_id: id, draft: draftForEvent(row, files) };
  await recordEvents(tx, ctx.store.ids, [{ teamId, type, subjectId: id, at, data }]);
}
