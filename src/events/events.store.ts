import { textsIn, uuidsIn, type Executor } from '../platform/db/index.ts';
import type { Ids } from '../platform/ids/index.ts';
import { countEvents } from './metric-counts.store.ts';
import type { NewEvent } from './new-event.ts';
import { fillOutbox } from './outbox.store.ts';
import type { EventType } from './vocabulary.ts';

export interface RecordedEvent extends NewEvent {
  id: string;
}

/** Which of these ids are those of events that stand. */
export async function standingAmong(tx: Executor, ids: readonly string[]): Promise<Set<string>> {
  const among = uuidsIn(tx.dialect, 'id', ids);
  const rows = await tx.all<{ id: string }>(`select id from events where ${among.sql}`, [among.value]);
  return new Set(rows.map((row) => row.id));
}

const COLUMNS = ['id', 'team_id', 'type', 'subject_id', 'data', 'created_at'] as const;

/** Records what happened, adds it to the metrics and puts it into the outbox, in the caller's transaction. */
export async function recordEvents(tx: Executor, ids: Ids, events: readonly NewEvent[]): Promise<void> {
  if (events.length === 0) return;
  await countEvents(tx, ids, events);
  const recorded = events.map((event) => ({ ...event, id: event.id ?? ids.uuid() }));
  const rows = recorded.map((event) => [
    event.id,
    event.teamId,
    event.type,
    event.subjectId,
    event.data ? JSON.stringify(event.data) : null,
    event.at,
  ]);
  await tx.insertMany('events', COLUMNS, rows);
  await fillOutbox(tx, recorded);
}

interface EventRow {
  id: string;
  team_id: string;
  type: EventType;
  subject_id: string;
  data: string | null;
  created_at: number;
}

/** The history of one email, domain or suppression, oldest first. */
export async function eventsOf(db: Executor, subjectId: string): Promise<RecordedEvent[]> {
  const rows = await db.all<EventRow>('select * from events where subject_id = ? order by id', [subjectId]);
  return rows.map(readEvent);
}

/** Those of these events that stand, in any order. */
export async function eventsByIds(db: Executor, ids: readonly string[]): Promise<RecordedEvent[]> {
  const among = uuidsIn(db.dialect, 'id', ids);
  return (await db.all<EventRow>(`select * from events where ${among.sql}`, [among.value])).map(readEvent);
}

const readEvent = (row: EventRow): RecordedEvent => ({
  id: row.id,
  teamId: row.team_id,
  type: row.type,
  subjectId: row.subject_id,
  ...(row.data === null ? {} : { data: JSON.parse(row.data) as Record<string, unknown> }),
  at: row.created_at,
});

/** Which of these subjects have no event of this type yet. */
export async function withoutEvent(tx: Executor, subjectIds: readonly string[], type: EventType): Promise<string[]> {
  if (subjectIds.length === 0) return [];
  const among = textsIn(tx.dialect, 'subject_id', subjectIds);
  const sql = `select subject_id from events where ${among.sql} and type = ?`;
  const have = new Set((await tx.all<{ subject_id: string }>(sql, [among.value, type])).map((row) => row.subject_id));
  return subjectIds.filter((id) => !have.has(id));
}
