import { LAST_EVENTS, recordEvents, type LastEvent, type NewEvent } from '../../../events/index.ts';
import type { Executor } from '../../../platform/db/index.ts';
import type { World } from '../../../platform/world/index.ts';
import { advanceLastEvent, insertAttempts, type AttemptRow } from '../../../resources/emails/index.ts';
import { suppress } from '../../../resources/suppressions/index.ts';
import {
  insertDeliveries,
  removeClaimed,
  reschedule,
  type DeliveryRow,
  type Outcome,
  type Settle,
} from '../queue/index.ts';
import { writeNotices, type NoticeOrder } from '../accept/index.ts';
import { attemptOf } from './attempt-of.ts';
import { conclude, type Conclusion } from './conclude.ts';
import { noticesOf } from './notices.ts';

interface Settled {
  row: DeliveryRow;
  conclusion: Conclusion;
  attempt: AttemptRow | undefined;
  /** Delivery notices that the sender asked for. */
  notices: NoticeOrder[];
}

/** Settles deliveries that `owner` claimed. One whose lease is lost was settled already, or another node settles it. */
export function createSettle(world: World, owner: string): Settle {
  const write = world.commits.lane<Settled, boolean>(async (tx, items) => {
    const ours = await endTheirClaims(world, tx, owner, items);
    await writeDown(world, tx, ours);
    return items.map((item) => ours.includes(item));
  });
  return async (row, outcomes: Outcome[], tried) => {
    const conclusion = conclude(world, row, outcomes);
    const attempt = tried && attemptOf(world, row, outcomes, tried);
    const notices = noticesOf(world, row, outcomes, conclusion);
    if (await write({ row, conclusion, attempt, notices }))
      for (const logLines of conclusion.logLines) logLines(world.mailLog);
  };
}

/** Records that the operator dropped these deliveries, in the transaction that removed them. Answers log lines for after the commit. */
export async function settleDropped(
  world: World,
  tx: Executor,
  rows: readonly DeliveryRow[],
  detail: string,
): Promise<Conclusion['logLines']> {
  const settled = rows.map((row): Settled => {
    const addresses = JSON.parse(row.recipients) as string[];
    const outcomes = addresses.map((address): Outcome => ({
      kind: 'failed',
      address,
      reason: 'dropped_by_operator',
      detail,
    }));
    const conclusion = conclude(world, row, outcomes);
    return { row, conclusion, attempt: undefined, notices: noticesOf(world, row, outcomes, conclusion) };
  });
  await writeDown(world, tx, settled);
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
    // Deleted from the set, so that a delivery that is settled twice in one commit counts once.
    const isOurs = isOver(item) ? over.delete(item.row.id) : await keep(world, tx, owner, item);
    if (isOurs) ours.push(item);
    else world.log.warn({ emailId: item.row.email_id }, 'an outcome came for a delivery that is held no more');
  }
  return ours;
}

/** Keeps a delivery that is not over: recipients to try again stay in the row, or those in doubt in a row that is never sent again. */
async function keep(world: World, tx: Executor, owner: string, { row, conclusion }: Settled): Promise<boolean> {
  const { retry, doubt } = conclusion;
  const inDoubt = doubt && { handed_off_at: doubt.handedOffAt, due_at: doubt.dueAt, attempt: row.attempt };
  if (!retry) {
    return inDoubt ? reschedule(tx, owner, row, { recipients: doubt.recipients, ...inDoubt }) : true;
  }
  const { recipients, attempt, dueAt, awaitsDomain, isFailing } = retry;
  const next = { recipients, attempt, due_at: dueAt, handed_off_at: null, awaitsDomain, isFailing };
  const isOurs = await reschedule(tx, owner, row, next);
  if (isOurs && inDoubt) {
    const apart = { id: world.ids.uuid(), recipients: JSON.stringify(doubt.recipients), lease_owner: null };
    await insertDeliveries(tx, [{ ...row, ...inDoubt, ...apart }]);
  }
  return isOurs;
}

async function writeDown(world: World, tx: Executor, items: Settled[]): Promise<void> {
  const at = world.clock.now();
  const moves = new Map<LastEvent, string[]>();
  for (const { row, conclusion } of items) {
    for (const state of new Set(conclusion.states)) {
      const emails = moves.get(state);
      if (emails) emails.push(row.email_id);
      else moves.set(state, [row.email_id]);
    }
  }
  // An email moves to a state at most once, so the events of that move are the first of their type: several where deliveries of
  // one email settle together. They are counted once (`additionsOf`).
  const moved = new Set<string>();
  for (const state of LAST_EVENTS) {
    for (const id of await advanceLastEvent(tx, moves.get(state) ?? [], state)) moved.add(`${id} email.${state}`);
  }
  const events = items.flatMap(({ row, conclusion }) =>
    conclusion.events.map((happening): NewEvent => {
      const { team_id: teamId, domain_id: domainId, email_id: subjectId } = row;
      return { teamId, domainId, subjectId, at, isFirst: moved.has(`${subjectId} ${happening.type}`), ...happening };
    }),
  );
  await recordEvents(tx, world.ids, events);
  const attempts = items.flatMap(({ attempt }) => attempt ?? []);
  if (attempts.length > 0) await insertAttempts(tx, attempts);
  await writeNotices(
    world,
    tx,
    items.flatMap(({ notices }) => notices),
  );
  for (const { row, conclusion } of items) {
    if (conclusion.suppress.length === 0) continue;
    const additions = conclusion.suppress.map((addition) => ({ ...addition, sourceId: row.email_id }));
    await suppress(world, tx, row.team_id, additions);
  }
}
