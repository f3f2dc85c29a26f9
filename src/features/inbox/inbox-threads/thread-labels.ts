import { recordEvents } from '../../../mail/events/index.ts';
import type { Executor } from '../../../platform/db/index.ts';
import { invalidField, notFound } from '../../../platform/refusal/index.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import {
  addThreadLabels,
  labelsOf,
  labelsOfThreads,
  lockThread,
  presentThreadLabel,
  removeThreadLabels,
  sourceOf,
  threadData,
  type ThreadRow,
} from '../inbox-rows/index.ts';
import { inboxNamed } from '../inboxes/index.ts';

const LABELS_A_THREAD_MAX = 20;

/** Adds labels, sets them or takes one off, and answers those that the thread has then. */
export async function changeThreadLabels(
  ctx: Ctx,
  named: string,
  threadId: string,
  { kind, labels }: { kind: 'add' | 'set' | 'remove'; labels: readonly string[] },
) {
  const inbox = await inboxNamed(ctx, named);
  const data = await ctx.store.db.tx(async (tx) => {
    const thread = await lockThread(tx, inbox.id, threadId);
    if (!thread) throw notFound('Thread');
    const before = (await labelsOfThreads(tx, [threadId])).map(({ id }) => id);
    if (kind === 'remove' && !(await labelsOf(tx, inbox.id)).some(({ id }) => id === labels[0]))
      throw notFound('Label');
    const wanted =
      kind === 'set' ? labels : kind === 'add' ? [...before, ...labels] : before.filter((id) => !labels.includes(id));
    await setLabels(tx, ctx, thread, wanted);
    return labelsOfThreads(tx, [threadId]);
  });
  return { object: 'list' as const, data: data.map(presentThreadLabel) };
}

/** Of a thread that is locked; its event says what is new and what is gone. */
export async function setLabels(
  tx: Executor,
  { store, teamId, actor }: Ctx,
  thread: ThreadRow,
  wanted: readonly string[],
) {
  const known = new Map((await labelsOf(tx, thread.inbox_id)).map((label) => [label.id, label]));
  const ids = [...new Set(wanted.map((id) => id.toLowerCase()))];
  const unknown = ids.findIndex((id) => !known.has(id));
  if (unknown >= 0) {
    throw invalidField(`labels.${unknown}`, `labels: ${ids[unknown]} is no label of this inbox`);
  }
  if (ids.length > LABELS_A_THREAD_MAX) {
    throw invalidField('labels', `labels: a thread has at most ${LABELS_A_THREAD_MAX} labels`);
  }
  const before = await labelsOfThreads(tx, [thread.id]);
  const added = ids.filter((id) => !before.some((label) => label.id === id)).flatMap((id) => known.get(id) ?? []);
  const removed = before.filter(({ id }) => !ids.includes(id));
  if (added.length + removed.length === 0) return;
  await removeThreadLabels(
    tx,
    thread.id,
    removed.map(({ id }) => id),
  );
  await addThreadLabels(
    tx,
    thread,
    added.map(({ id }) => id),
  );
  const now = await labelsOfThreads(tx, [thread.id]);
  const data = {
    ...threadData(sourceOf(actor), thread, now),
    ...{ added: added.map(presentThreadLabel), removed: removed.map(presentThreadLabel) },
  };
  const at = store.clock.now();
  await recordEvents(tx, store.ids, [{ teamId, type: 'inbox.thread.labels.updated', subjectId: thread.id, data, at }]);
}
