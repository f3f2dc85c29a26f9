import { defineHook } from '../../platform/hook.ts';
import { cutPage, pageSql, pageValues, textsIn, uuidsIn, type Executor, type Page } from '../../platform/db/index.ts';
import { timeOfId, type Ids } from '../../platform/ids.ts';
import type { EventDraft, NewEvent, EventType } from './event.ts';
import { enrolByEvents } from './enrol.store.ts';
import { writeEvents, type RecordedEvent } from './write-events.store.ts';

/** Returns which of these ids are those of existing events. */
export async function listKnownEventIds(tx: Executor, ids: readonly string[]): Promise<Set<string>> {
  const among = uuidsIn(tx.dialect, 'id', ids);
  const rows = await tx.all<{ id: string }>(`select id from events where ${among.sql}`, [among.value]);
  return new Set(rows.map((row) => row.id));
}

/** Returns the latest time in the ids of events; undefined if there are none. */
export async function latestIdTime(db: Executor): Promise<number | undefined> {
  const row = await db.get<{ id: string }>('select id from events order by id desc limit 1');
  return row && timeOfId(row.id);
}

/** Returns the time of the latest event; undefined if there is none. */
export async function lastEventAt(db: Executor): Promise<number | undefined> {
  const row = await db.get<{ created_at: number }>('select created_at from events order by id desc limit 1');
  return row && Number(row.created_at);
}

/** Records events, adds them to the metrics and notifies their subscribers, in the caller's transaction. */
export async function recordEvents(tx: Executor, ids: Ids, events: readonly NewEvent[]): Promise<void> {
  const recorded = await writeEvents(tx, ids, events);
  if (recorded.length > 0) await enrolByEvents(tx, ids, recorded);
}

interface EventRow {
  id: string;
  team_id: string;
  type: EventType;
  subject_id: string;
  data: string | null;
  created_at: number;
}

/** Reads the history of one email, domain or suppression, oldest first. */
export async function listEvents(db: Executor, subjectId: string): Promise<RecordedEvent[]> {
  const rows = await db.all<EventRow>('select * from events where subject_id = ? order by id', [subjectId]);
  return rows.map(readEvent);
}

/** Reads one page of the history of a subject, newest first. */
export async function eventPage(
  db: Executor,
  subjectId: string,
  page: Page,
): Promise<{ rows: RecordedEvent[]; hasMore: boolean }> {
  const rows = await db.all<EventRow>(pageSql('events', 'subject_id = ?', page), [subjectId, ...pageValues(page)]);
  const found = cutPage(rows, page);
  return { rows: found.rows.map(readEvent), hasMore: found.hasMore };
}

/** Erases pending webhook data of events that were erased: types and times remain. */
export const eraseOfEndpoints =
  defineHook<(tx: Executor, teamId: string, eventIds: readonly string[]) => Promise<void>>('eraseOfEndpoints');

/**
 * Erases the recorded events of a subject of a team, and returns how many; endpoints that are still to be notified get
 * only the types and the times.
 */
export async function eraseEvents(tx: Executor, teamId: string, subjectId: string): Promise<number> {
  const rows = await tx.all<{ id: string }>('delete from events where subject_id = ? returning id', [subjectId]);
  await eraseOfEndpoints.call(
    tx,
    teamId,
    rows.map((row) => row.id),
  );
  return rows.length;
}

/** Returns which of these events exist; on PostgreSQL a transaction that erases them waits for the end of this one. */
export async function holdEvents(tx: Executor, ids: readonly string[]): Promise<Set<string>> {
  if (ids.length === 0) return new Set();
  const among = uuidsIn(tx.dialect, 'id', ids);
  const hold = tx.dialect === 'pg' ? ' order by id for key share' : '';
  const rows = await tx.all<{ id: string }>(`select id from events where ${among.sql}${hold}`, [among.value]);
  return new Set(rows.map((row) => row.id));
}

/** Reads the events of these subjects with one of these types, in any order. */
export async function eventsOfSubjects(
  db: Executor,
  subjectIds: readonly string[],
  types: readonly EventType[],
): Promise<RecordedEvent[]> {
  if (subjectIds.length === 0) return [];
  const among = textsIn(db.dialect, 'subject_id', subjectIds);
  const named = textsIn(db.dialect, 'type', types);
  const sql = `select * from events where ${among.sql} and ${named.sql}`;
  return (await db.all<EventRow>(sql, [among.value, named.value])).map(readEvent);
}

/** Reads one page of the events of these subjects with one of these types, and one more, in the order of the page. */
export async function eventPageOfSubjects(
  db: Executor,
  { subjectIds, types }: { subjectIds: readonly string[]; types: readonly EventType[] },
  page: Page,
): Promise<RecordedEvent[]> {
  if (subjectIds.length === 0 || types.length === 0) return [];
  const among = textsIn(db.dialect, 'subject_id', subjectIds);
  const named = textsIn(db.dialect, 'type', types);
  // Without the hints, both databases may read all events in the order of the page.
  const index = db.dialect === 'pg' ? '' : ' indexed by events_subject_id_id_index';
  const sql = `with theirs as materialized (select * from events${index} where ${among.sql} and ${named.sql})
    ${pageSql('theirs', 'true', page)}`;
  return (await db.all<EventRow>(sql, [among.value, named.value, ...pageValues(page)])).map(readEvent);
}

/** Reads those of these events that exist, in any order. */
export async function eventsByIds(db: Executor, ids: readonly string[]): Promise<RecordedEvent[]> {
  const among = uuidsIn(db.dialect, 'id', ids);
  return (await db.all<EventRow>(`select * from events where ${among.sql}`, [among.value])).map(readEvent);
}

/** Reads an event. The data that was recorded with a type is of that type. */
function readEvent(row: EventRow): RecordedEvent {
  const happening = { type: row.type, ...(row.data === null ? {} : { data: JSON.parse(row.data) as unknown }) };
  const { id, team_id: teamId, subject_id: subjectId, created_at: at } = row;
  return { id, teamId, subjectId, at, ...(happening as EventDraft) };
}

/** Returns which of these subjects have no event of this type yet. */
export async function withoutEvent(tx: Executor, subjectIds: readonly string[], type: EventType): Promise<string[]> {
  if (subjectIds.length === 0) return [];
  const among = textsIn(tx.dialect, 'subject_id', subjectIds);
  const sql = `select subject_id from events where ${among.sql} and type = ?`;
  const have = new Set((await tx.all<{ subject_id: string }>(sql, [among.value, type])).map((row) => row.subject_id));
  return subjectIds.filter((id) => !have.has(id));
}

/** Deletes the history of removed emails; returns how many events it had. */
export function removeEvents(tx: Executor, emailIds: readonly string[]): Promise<number> {
  return tx.dialect === 'pg'
    ? tx.run('delete from events where subject_id = any(?::text[])', [`{${emailIds.join(',')}}`])
    : tx.run('delete from events where subject_id in (select value from json_each(?))', [JSON.stringify(emailIds)]);
}

/**
 * Removes events that belong to no email: of domains, of suppressions. The condition on the type repeats that of the
 * index exactly.
 */
export function removeOtherEvents(
  db: Executor,
  { teamId, beforeId }: { teamId: string; beforeId: string },
  limit: number,
): Promise<number> {
  const sql = `delete from events where id in (select id from events
    where team_id = ? and id < ? and substr(type, 1, 6) <> 'email.' order by id limit ?)`;
  return db.run(sql, [teamId, beforeId, limit]);
}
