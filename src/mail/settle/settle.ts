import type { Executor } from '../../platform/db/index.ts';
import type { World } from '../../platform/world/index.ts';
import { forgetFirstAttempts, type AttemptRow } from '../emails/index.ts';
import {
  emailOf,
  insertDeliveries,
  removeClaimed,
  reschedule,
  type DeliveryRow,
  type Outcome,
  type Settle,
} from '../queue/index.ts';
import type { Stream } from '../stream-rates/index.ts';
import { attemptOf } from './attempt-of.ts';
import { conclude, type Conclusion } from './conclude.ts';
import { noticesOf } from './notices.ts';
import { createRefusalCounter, type RefusalCounter } from './refusals.ts';
import { settleOutcomes, type Settlement } from './settle-outcomes.ts';

interface Settled extends Settlement {
  row: DeliveryRow;
}

/** Settles deliveries that `owner` claimed. One whose lease is lost was settled already, or another node settles it. */
export function createSettle(
  world: World,
  owner: string,
  refusals: RefusalCounter = createRefusalCounter(world),
): Settle {
  const write = world.commits.lane<Settled, boolean>(async (tx, items) => {
    const ours = await endTheirClaims(world, tx, owner, items);
    await settleOutcomes(world, tx, ours);
    // Mail that was not signed is dated anew, or it would carry the date of days ago once its domain is verified again.
    const unsigned = ours.filter(({ conclusion }) => conclusion.retry?.awaitsDomain === true);
    await forgetFirstAttempts(tx, [...new Set(unsigned.map(({ row }) => row.email_id))]);
    return items.map((item) => ours.includes(item));
  });
  return async (row, outcomes: Outcome[], tried) => {
    const conclusion = conclude(world, row, outcomes);
    const attempt = tried && attemptOf(world, row, outcomes, tried);
    const notices = noticesOf(world, row, outcomes, conclusion);
    if (await write({ row, email: emailOf(row), stream: findStream(row), conclusion, attempt, notices })) {
      for (const logLines of conclusion.logLines) logLines(world.mailLog);
      if (attempt) traceAttempt(world, attempt, outcomes);
      refusals.note(row, outcomes);
    }
  };
}

/** A delivery that names a contact was sent by a run of an automation. */
function findStream({ broadcast_id: broadcastId, contact_id: contactId }: DeliveryRow): Stream {
  if (broadcastId !== null) return 'broadcast';
  return contactId === null ? 'transactional' : 'automation';
}

function traceAttempt({ tracer }: World, attempt: AttemptRow, outcomes: readonly Outcome[]): void {
  tracer.delivered({
    ...{ id: attempt.id, emailId: attempt.email_id, startMs: attempt.created_at, durationMs: attempt.duration_ms },
    ...{ attempt: attempt.attempt, destination: attempt.destination, mx: attempt.mx ?? undefined },
    outcomes: [...new Set(outcomes.map(({ kind }) => kind))],
  });
}

/** Why deliveries are dropped: by an operator, with the operator's reason in `detail`, or because their broadcast was canceled. */
type Dropped = { reason: 'dropped_by_operator'; detail: string } | { reason: 'broadcast_canceled' };

/** Records that these deliveries were dropped, in the transaction that removed them. Answers log lines for after the commit. */
export async function settleDropped(
  world: World,
  tx: Executor,
  rows: readonly DeliveryRow[],
  why: Dropped,
): Promise<Conclusion['logLines']> {
  const settled = rows.map((row): Settlement => {
    const addresses = JSON.parse(row.recipients) as string[];
    const outcomes = addresses.map((address): Outcome => ({ kind: 'failed', address, ...why }));
    const conclusion = conclude(world, row, outcomes);
    return {
      email: emailOf(row),
      stream: findStream(row),
      conclusion,
      notices: noticesOf(world, row, outcomes, conclusion),
    };
  });
  await settleOutcomes(world, tx, settled);
  return settled.flatMap(({ conclusion }) => conclusion.logLines);
}

async function endTheirClaims(world: World, tx: Executor, owner: string, items: Settled[]): Promise<Settled[]> {
  const isOver = ({ conclusion }: Settled): boolean => !conclusion.retry && !conclusion.doubt;
  const over = await removeClaimed(
    tx,
    owner,
    items.filter(isOver).map(({ row }) => row),
  );
  const ours: Settled[] = [];
  for (const item of items) {
    // Deleted from the set: of a delivery that is settled twice in one commit, the second time is not ours.
    const isOurs = isOver(item) ? over.delete(item.row.id) : await keep(world, tx, owner, item);
    if (isOurs) ours.push(item);
    else world.log.warn({ emailId: item.row.email_id }, 'an outcome came for a delivery that is held no more');
  }
  return ours;
}

/**
 * Keeps a delivery that has a retry or a doubt. Recipients to try again stay in its row. Those in doubt stay in a row that is never
 * sent again: in the same one, or in one of their own where other recipients are tried again. Answers false where the lease is lost.
 */
async function keep(world: World, tx: Executor, owner: string, { row, conclusion }: Settled): Promise<boolean> {
  const { retry, doubt } = conclusion;
  const inDoubt = doubt && {
    recipients: doubt.recipients,
    ...{ handed_off_at: doubt.handedOffAt, due_at: doubt.dueAt, attempt: row.attempt },
  };
  if (!retry) return inDoubt !== undefined && reschedule(tx, owner, row, inDoubt);
  const { recipients, attempt, dueAt, awaitsDomain, isFailing } = retry;
  const next = { recipients, attempt, due_at: dueAt, handed_off_at: null, awaitsDomain, isFailing };
  const isOurs = await reschedule(tx, owner, row, next);
  if (isOurs && inDoubt) {
    const apart = { id: world.ids.uuid(), recipients: JSON.stringify(doubt.recipients), lease_owner: null };
    await insertDeliveries(tx, [{ ...row, ...inDoubt, ...apart }]);
  }
  return isOurs;
}
