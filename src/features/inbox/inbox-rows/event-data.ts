import type { InboxEventSource, InboxThreadData } from '../../../mail/events/index.ts';
import type { Actor } from '../../../tenancy/access/index.ts';
import { presentThreadLabel, shownFolder } from './present.ts';
import type { ThreadRow } from './rows.ts';
import type { ThreadLabelRow } from './thread-lists.store.ts';

/** Whom an event names as its source. */
export function sourceOf(actor: Actor): InboxEventSource {
  if (actor.kind === 'session') return 'dashboard';
  return actor.kind === 'job' ? 'system' : 'api';
}

/** What every event of a thread says. */
export const threadData = (
  source: InboxEventSource,
  thread: ThreadRow,
  labels: readonly Omit<ThreadLabelRow, 'thread_id'>[],
): InboxThreadData => ({
  ...{ source, inbox_id: thread.inbox_id, thread_id: thread.id },
  thread: {
    object: 'inbox_thread',
    id: thread.id,
    subject: thread.subject === '' ? null : thread.subject,
    folder: shownFolder(thread.folder),
    labels: labels.map(presentThreadLabel),
    read: thread.is_read === 1,
  },
});
