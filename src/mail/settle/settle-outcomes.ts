import type { Executor } from '../../platform/db/index.ts';
import type { World } from '../../platform/world/index.ts';
import {
  insertAttempts,
  recordEmailEvents,
  type AttemptRow,
  type EmailEvent,
  type EventEmail,
} from '../emails/index.ts';
import { addStreamCounts } from '../stream-rates/index.ts';
import { suppress } from '../suppressions/index.ts';
import { writeNotices, type NoticeOrder } from '../accept/index.ts';
import { countStreams, type StreamOutcome } from './count-streams.ts';

/** What became of an email at one destination, and what is written of it. */
export interface Settlement extends StreamOutcome {
  email: EventEmail;
  attempt?: AttemptRow | undefined;
  /** Delivery notices that the sender asked for. */
  notices: NoticeOrder[];
}

/**
 * Writes down what followed from outcomes, in the caller's transaction: states, events, attempts, notices and suppressions.
 * What a connection said and what a report says days later are written here alike. The claim of a delivery has to be ended
 * before its outcomes are settled.
 */
export async function settleOutcomes(world: World, tx: Executor, settlements: readonly Settlement[]): Promise<void> {
  const at = world.clock.now();
  const { counts, excused } = await countStreams(world, tx, settlements);
  await recordEmailEvents(
    tx,
    world.ids,
    settlements.flatMap(({ email, conclusion }) =>
      conclusion.events.map((happening): EmailEvent => ({
        email,
        at,
        isExcused: excused.has(happening),
        ...happening,
      })),
    ),
  );
  // After the counts of the metrics: every transaction locks the rows of a team in this order.
  await addStreamCounts(tx, world.ids, at, counts);
  const attempts = settlements.flatMap(({ attempt }) => attempt ?? []);
  if (attempts.length > 0) await insertAttempts(tx, attempts);
  await writeNotices(
    world,
    tx,
    settlements.flatMap(({ notices }) => notices),
  );
  for (const { email, conclusion } of settlements) {
    if (conclusion.suppress.length === 0) continue;
    const additions = conclusion.suppress.map((addition) => ({ ...addition, sourceId: email.id }));
    await suppress(world, tx, email.team_id, additions);
  }
}
