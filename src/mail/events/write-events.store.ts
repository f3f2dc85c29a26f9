import { isoTime } from '../../platform/clock.ts';
import type { Executor } from '../../platform/db/index.ts';
import type { Ids } from '../../platform/ids.ts';
import type { NewEvent } from './event.ts';
import { countEvents } from './metric-counts.store.ts';
import { fillOutbox } from './outbox.store.ts';

export type RecordedEvent = NewEvent & { id: string };

const COLUMNS = ['id', 'team_id', 'type', 'subject_id', 'data', 'created_at'] as const;

/** Writes events, adds them to the metrics and to the outboxes of their subscribers. Starts no automation. */
export async function writeEvents(tx: Executor, ids: Ids, events: readonly NewEvent[]): Promise<RecordedEvent[]> {
  if (events.length === 0) return [];
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
  return recorded;
}

/** A run of an automation, with the state that an event reports. */
export interface ReportedRun {
  id: string;
  team_id: string;
  automation_id: string;
  contact_id: string;
  started_at: number | null;
  status: 'running' | 'completed' | 'failed';
  completedAt: number | null;
  error: string | null;
  /** The event that ended it, if one did. */
  endedBy?: string;
}

/** Records that runs of automations started or ended. */
export async function recordRunEvents(tx: Executor, ids: Ids, runs: readonly ReportedRun[], at: number): Promise<void> {
  const events = runs.map((run): NewEvent => {
    const { id, team_id: teamId, automation_id, contact_id, status, started_at: startedAt } = run;
    const { completedAt, error, endedBy } = run;
    const type = `automation.run.${status === 'running' ? 'started' : status}` as const;
    const data = {
      id,
      automation_id,
      contact_id,
      status,
      started_at: isoTime(Number(startedAt ?? at)),
      completed_at: completedAt === null ? null : isoTime(completedAt),
      error,
      ...(endedBy !== undefined && { ended_by: endedBy }),
    };
    return { teamId, type, subjectId: id, at, data };
  });
  await writeEvents(tx, ids, events);
}
