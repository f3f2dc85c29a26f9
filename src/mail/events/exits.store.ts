import { uuidsIn, type Executor } from '../../platform/db/index.ts';
import type { Ids } from '../../platform/ids.ts';
import { recordRunEvents } from './write-events.store.ts';

/** An automation whose runs an event ends, and the name by which it names the event. */
export interface Exit {
  automation_id: string;
  name: string;
}

interface Named {
  teamId: string;
  by: { eventId: string } | { type: string } | { automationId: string };
}

/** Returns the automations of a team whose runs an event ends, whether or not they are enabled. */
export async function listExits(db: Executor, { teamId, by }: Named): Promise<Exit[]> {
  if ('automationId' in by) return [];
  const where = 'type' in by ? 'event_type = ?' : 'event_id = ?';
  const sql = `select automation_id, name from automation_exits where team_id = ? and ${where} order by automation_id`;
  return db.all<Exit>(sql, [teamId, 'type' in by ? by.type : by.eventId]);
}

interface EndedRow {
  id: string;
  team_id: string;
  automation_id: string;
  contact_id: string;
  started_at: number | null;
}

/**
 * Ends the running runs of the contacts that these events are about, whether they wait or are due. The transaction that
 * changes a run first decides: a step that was completed before stays done, and one that is executed at the same time
 * finds that its run has ended, so that its transaction fails.
 */
export async function endRuns(
  tx: Executor,
  ids: Ids,
  { exits, events }: { exits: readonly Exit[]; events: readonly { contactId: string; at: number }[] },
): Promise<void> {
  const [first] = events;
  if (exits.length === 0 || !first) return;
  const contacts = uuidsIn(tx.dialect, 'contact_id', [...new Set(events.map(({ contactId }) => contactId))]);
  for (const { automation_id: automationId, name } of exits) {
    // Locked in the order of their ids, as by every transaction that ends several, so that no deadlock arises.
    const among = `select id from automation_runs where ${contacts.sql} and automation_id = ? and status = 'running'
      order by id${tx.dialect === 'pg' ? ' for update' : ''}`;
    const sql = `update automation_runs set status = 'completed', completed_at = ?, ended_by = ?, lease_owner = null,
      lease_until = null where id in (${among}) returning id, team_id, automation_id, contact_id, started_at`;
    const rows = await tx.all<EndedRow>(sql, [first.at, name, contacts.value, automationId]);
    const ended = rows.map((row) => ({
      ...row,
      status: 'completed' as const,
      completedAt: first.at,
      error: null,
      endedBy: name,
    }));
    await recordRunEvents(tx, ids, ended, first.at);
  }
}
