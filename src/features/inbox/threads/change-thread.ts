import type { UpdateInboxThreadRequest } from '../../../contract/index.ts';
import { eraseEvents, recordEvents, type NewEvent } from '../../../mail/events/index.ts';
import type { Executor } from '../../../platform/db/index.ts';
import { invalidField, notFound } from '../../../platform/refusal.ts';
import { parseIsoTime } from '../../../protocol/iso-time.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import {
  assigneesAmong,
  labelsOfThreads,
  lockThread,
  readEmails,
  unreadNewest,
  updateThreadRow,
  addThreadLabels,
  removeThreadLabels,
  type ThreadChange,
} from '../store/threads.store.ts';
import { removeThreadRows } from '../store/remove.store.ts';
import { toEventSource, threadData, presentThreadLabel } from '../store/present.ts';
import { listLabels } from '../store/inboxes.store.ts';
import type { ThreadRow } from '../store/rows.ts';
import { inboxNamed } from '../inboxes.ts';
import { findMemberByEmail } from '../../../tenancy/members/index.ts';
import { toEmailKey } from '../../../tenancy/users/index.ts';
import { presentWhole } from './read-threads.ts';

const LABELS_A_THREAD_MAX = 20;

/** Adds, sets or removes labels; returns the resulting labels of the thread. */
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
    if (kind === 'remove' && !(await listLabels(tx, inbox.id)).some(({ id }) => id === labels[0]))
      throw notFound('Label');
    const wanted =
      kind === 'set' ? labels : kind === 'add' ? [...before, ...labels] : before.filter((id) => !labels.includes(id));
    await setLabels(tx, ctx, thread, wanted);
    return labelsOfThreads(tx, [threadId]);
  });
  return { object: 'list' as const, data: data.map(presentThreadLabel) };
}

/** Sets the labels of a locked thread; records an event with those added and removed. */
async function setLabels(tx: Executor, { store, teamId, actor }: Ctx, thread: ThreadRow, wanted: readonly string[]) {
  const known = new Map((await listLabels(tx, thread.inbox_id)).map((label) => [label.id, label]));
  const ids = [...new Set(wanted.map((id) => id.toLowerCase()))];
  const unknown = ids.findIndex((id) => !known.has(id));
  if (unknown >= 0) {
    throw invalidField(`labels.${unknown}`, `labels: ${ids[unknown]} is not a label of this inbox`);
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
    ...threadData(toEventSource(actor), thread, now),
    added: added.map(presentThreadLabel),
    removed: removed.map(presentThreadLabel),
  };
  const at = store.clock.now();
  await recordEvents(tx, store.ids, [{ teamId, type: 'inbox.thread.labels.updated', subjectId: thread.id, data, at }]);
}

const YEAR_MS = 366 * 86_400_000;

export async function updateInboxThread(ctx: Ctx, named: string, threadId: string, input: UpdateInboxThreadRequest) {
  const { store, teamId } = ctx;
  const inbox = await inboxNamed(ctx, named);
  return store.db.tx(async (tx) => {
    const before = await lockThread(tx, inbox.id, threadId);
    if (!before) throw notFound('Thread');
    const change = {
      ...decidePlace(ctx, before, input),
      ...(input.read === undefined ? {} : { is_read: input.read ? 1 : 0 }),
      ...(input.notes === undefined ? {} : { notes: input.notes === '' ? null : input.notes }),
      ...(input.assignee === undefined ? {} : { assignee_id: await loadAssignee(tx, teamId, input.assignee) }),
    };
    if (input.read === true) await readEmails(tx, threadId);
    if (input.read === false) await unreadNewest(tx, threadId);
    const now = await updateThreadRow(tx, before, change);
    if (input.labels !== undefined) await setLabels(tx, ctx, now, input.labels);
    await recordEvents(tx, store.ids, await buildEvents(tx, ctx, before, now));
    return presentWhole(ctx, tx, now);
  });
}

/** Returns the new folder and snooze, which belong together: only a thread in the folder inbox is snoozed. */
function decidePlace(
  { store }: Ctx,
  before: ThreadRow,
  { folder, snoozed_until: until }: UpdateInboxThreadRequest,
): ThreadChange {
  const now = store.clock.now();
  const shown = before.folder === 'snoozed' ? 'inbox' : before.folder;
  const target = folder ?? shown;
  if (until !== undefined && until !== null) {
    if (target !== 'inbox') throw invalidField('snoozed_until', ONLY_IN_INBOX);
    return { folder: 'snoozed', snoozed_until: readSnooze(until, now), trashed_at: null };
  }
  const isWoken = before.folder === 'snoozed' && (until === null || folder !== undefined);
  if (target === shown && !isWoken) return {};
  return {
    folder: target,
    snoozed_until: null,
    trashed_at: target === 'trash' ? now : null,
    ...(isWoken && target === 'inbox' ? { sort_id: store.ids.uuid() } : {}),
  };
}

const ONLY_IN_INBOX = 'snoozed_until is only for a thread in the folder inbox; move it there first';

function readSnooze(text: string, now: number): number {
  const ms = parseIsoTime(text)?.ms;
  if (ms !== undefined && ms > now && ms <= now + YEAR_MS) return ms;
  throw invalidField('snoozed_until', 'snoozed_until must be an ISO 8601 time in the future, at most a year from now');
}

async function loadAssignee(tx: Executor, teamId: string, email: string | null): Promise<string | null> {
  if (email === null) return null;
  const member = await findMemberByEmail(tx, teamId, toEmailKey(email));
  if (member && member.role !== 'viewer') return member.user_id;
  const message = member
    ? `assignee: ${email} has only read access in this team; assign a member`
    : `assignee: ${email} is not a member of this team`;
  throw invalidField('assignee', message);
}

async function buildEvents(tx: Executor, { store, teamId, actor }: Ctx, before: ThreadRow, now: ThreadRow) {
  const data = threadData(toEventSource(actor), now, await labelsOfThreads(tx, [now.id]));
  const envelope = { teamId, subjectId: now.id, at: store.clock.now() };
  const events: NewEvent[] = [];
  const from = threadData('api', before, []).thread.folder;
  const to = data.thread.folder;
  if (from !== to && to !== 'sent') {
    events.push({ ...envelope, type: 'inbox.thread.folder.updated', data: { ...data, from, to } });
  }
  if (before.assignee_id === now.assignee_id) return events;
  const people = await assigneesAmong(
    tx,
    teamId,
    [before.assignee_id, now.assignee_id].flatMap((id) => id ?? []),
  );
  const findEmail = (id: string | null): string | null => (id === null ? null : (people.get(id) ?? null));
  const previous = { previous_assignee_email: findEmail(before.assignee_id) };
  if (now.assignee_id === null) {
    events.push({ ...envelope, type: 'inbox.thread.unassigned', data: { ...data, ...previous } });
  } else {
    const by = actor.kind === 'session' || actor.kind === 'oauth_grant' ? actor.name : null;
    const assigned = { assignee_email: findEmail(now.assignee_id), assigned_by_email: by, ...previous };
    events.push({ ...envelope, type: 'inbox.thread.assigned', data: { ...data, ...assigned } });
  }
  return events;
}

/** Deletes a thread with its events. Endpoints that have not received them yet get only the types and the times. */
export async function deleteInboxThread(ctx: Ctx, named: string, threadId: string) {
  const { store, teamId } = ctx;
  const inbox = await inboxNamed(ctx, named);
  const files = await store.db.tx(async (tx) => {
    if (!(await lockThread(tx, inbox.id, threadId))) throw notFound('Thread');
    await eraseEvents(tx, teamId, threadId);
    return removeThreadRows(tx, [threadId]);
  });
  // Runs after the commit: a crash in between leaves files without a row, which the daily sweep finds.
  for (const draft of files) await store.blobs.remove(draft);
  return { object: 'inbox_thread' as const, id: threadId, deleted: true as const };
}
