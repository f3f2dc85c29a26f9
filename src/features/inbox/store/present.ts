import { isoTime } from '../../../platform/clock.ts';
import type { Direction, InboxRow, StoredFolder, ThreadRow } from './rows.ts';
import type { ThreadLabelRow } from './threads.store.ts';
import type { InboxEventSource, InboxThreadData } from '../../../mail/events/index.ts';
import type { Actor } from '../../../tenancy/access/index.ts';

const timeOrNull = (at: number | string | null): string | null => (at === null ? null : isoTime(Number(at)));

/** Formats an inbox for a list; the full object adds to it. */
export const presentInboxItem = (row: InboxRow, unread: number) => ({
  id: row.id,
  name: row.name ?? row.address,
  email_address: row.address,
  from_name: row.from_name,
  unread,
  last_received: timeOrNull(row.last_received_at),
  created_at: isoTime(Number(row.created_at)),
  updated_at: isoTime(Number(row.updated_at)),
});

export const presentInbox = (row: InboxRow, { unread, drafts }: { unread: number; drafts: number }) => ({
  object: 'inbox' as const,
  ...presentInboxItem(row, unread),
  domain_id: row.domain_id,
  receiving_address: row.receiving_address,
  channel: row.channel,
  signature: row.signature,
  thread_by_subject: row.thread_by_subject === 1,
  drafts,
});

/** Returns the folder as the API shows it: a snoozed thread is in the inbox. */
export const shownFolder = (folder: StoredFolder): Exclude<StoredFolder, 'snoozed'> =>
  folder === 'snoozed' ? 'inbox' : folder;

export const presentThreadLabel = ({ id, name, color }: Omit<ThreadLabelRow, 'thread_id'>) => ({ id, name, color });

/** A member of the team who is writing a reply. */
interface AnsweringPerson {
  name: string;
  email: string;
  since: string;
  is_caller: boolean;
}

export interface ThreadSurroundings {
  labels: readonly Omit<ThreadLabelRow, 'thread_id'>[];
  assignee: string | null;
  answering: readonly AnsweringPerson[];
  hasDraft: boolean;
  direction: Direction;
}

const list = (json: string): string[] => JSON.parse(json) as string[];
const textOrNull = (text: string): string | null => (text === '' ? null : text);

export const presentThreadItem = (
  row: ThreadRow,
  { labels, assignee, answering, hasDraft, direction }: ThreadSurroundings,
) => ({
  id: row.id,
  subject: textOrNull(row.subject),
  snippet: textOrNull(row.snippet),
  from: textOrNull(row.sender),
  to: list(row.to_list),
  cc: list(row.cc_list),
  bcc: list(row.bcc_list),
  labels: labels.map(presentThreadLabel),
  email_count: row.email_count,
  has_attachment: row.has_attachment === 1,
  has_draft: hasDraft,
  read: row.is_read === 1,
  received_at: isoTime(Number(row.last_at)),
  direction,
  folder: shownFolder(row.folder),
  assignee,
  snoozed_until: timeOrNull(row.snoozed_until),
  answering: [...answering],
});

/** Address that programs may not reply to in the thread for now. */
interface Paused {
  address: string;
  until: number;
}

export const presentThread = (
  row: ThreadRow,
  {
    labels,
    assignee,
    answering,
    loop,
  }: Pick<ThreadSurroundings, 'labels' | 'assignee' | 'answering'> & { loop: Paused | undefined },
) => ({
  object: 'inbox_thread' as const,
  id: row.id,
  subject: textOrNull(row.subject),
  folder: shownFolder(row.folder),
  labels: labels.map(presentThreadLabel),
  read: row.is_read === 1,
  assignee,
  snoozed_until: timeOrNull(row.snoozed_until),
  answering: [...answering],
  notes: row.notes,
  answers_paused: loop === undefined ? null : { address: loop.address, until: isoTime(loop.until) },
});

/** Returns the source that an event names for an actor. */
export function toEventSource(actor: Actor): InboxEventSource {
  if (actor.kind === 'session') return 'dashboard';
  return actor.kind === 'job' ? 'system' : 'api';
}

/** Returns the data that every event of a thread contains. */
export const threadData = (
  source: InboxEventSource,
  thread: ThreadRow,
  labels: readonly Omit<ThreadLabelRow, 'thread_id'>[],
): InboxThreadData => ({
  source,
  inbox_id: thread.inbox_id,
  thread_id: thread.id,
  thread: {
    object: 'inbox_thread',
    id: thread.id,
    subject: thread.subject === '' ? null : thread.subject,
    folder: shownFolder(thread.folder),
    labels: labels.map(presentThreadLabel),
    read: thread.is_read === 1,
  },
});
