import { LAST_EVENTS, recordEvents, type LastEvent, type NewEvent } from '../../events/index.ts';
import type { Executor } from '../../platform/db/index.ts';
import type { World } from '../../platform/world/index.ts';
import { advanceLastEvent } from '../../resources/emails/index.ts';
import { suppress } from '../../resources/suppressions/index.ts';
import {
  deleteDeliveries,
  insertDeliveries,
  rescheduleDelivery,
  type DeliveryRow,
  type Outcome,
  type Settle,
} from '../queue/index.ts';
import { conclude, type Conclusion } from './conclude.ts';

interface Settled {
  row: DeliveryRow;
  conclusion: Conclusion;
}

export function createSettle(world: World): Settle {
  const write = world.commits.lane<Settled, void>(async (tx, items) => {
    await writeAll(world, tx, items);
    return items.map(() => undefined);
  });
  return (row, outcomes: Outcome[]) => write({ row, conclusion: conclude(world, row, outcomes) });
}

async function writeAll(world: World, tx: Executor, items: Settled[]): Promise<void> {
  const at = world.clock.now();
  const events: NewEvent[] = [];
  const moves = new Map<LastEvent, string[]>();
  const finished: string[] = [];
  for (const { row, conclusion } of items) {
    for (const event of conclusion.events) {
      events.push({ teamId: row.team_id, type: event.type, subjectId: row.email_id, data: event.data, at });
    }
    for (const state of new Set(conclusion.states)) {
      const emails = moves.get(state);
      if (emails) emails.push(row.email_id);
      else moves.set(state, [row.email_id]);
    }
    if (conclusion.retry === undefined && conclusion.doubt === undefined) finished.push(row.id);
  }
  await deleteDeliveries(tx, finished);
  await recordEvents(tx, world.ids, events);
  for (const state of LAST_EVENTS) await advanceLastEvent(tx, moves.get(state) ?? [], state);
  for (const { row, conclusion } of items) {
    if (conclusion.retry ?? conclusion.doubt) await keep(world, tx, row, conclusion);
    if (conclusion.suppress.length > 0) {
      const additions = conclusion.suppress.map((addition) => ({ ...addition, sourceId: row.email_id }));
      await suppress(world, tx, row.team_id, additions);
    }
  }
}

/** What goes on: recipients to try again stay in the row; those in doubt stand in a row that is never sent again. */
async function keep(world: World, tx: Executor, row: DeliveryRow, { retry, doubt }: Conclusion): Promise<void> {
  if (retry) {
    await rescheduleDelivery(tx, {
      id: row.id,
      recipients: retry.recipients,
      attempt: retry.attempt,
      due_at: retry.dueAt,
      handed_off_at: null,
    });
  }
  if (!doubt) return;
  const inDoubt = { handed_off_at: doubt.handedOffAt, due_at: doubt.dueAt, attempt: row.attempt };
  if (!retry) {
    await rescheduleDelivery(tx, { id: row.id, recipients: doubt.recipients, ...inDoubt });
    return;
  }
  const recipients = JSON.stringify(doubt.recipients);
  await insertDeliveries(tx, [{ ...row, ...inDoubt, id: world.ids.uuid(), recipients, lease_owner: null }]);
}
