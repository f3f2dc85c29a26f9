import type { Executor } from '../../../platform/db/index.ts';
import { firstIdAt, timeOfId } from '../../../platform/ids/index.ts';
import { passedSince } from '../inbox-rows/index.ts';
import { readList } from '../../../mail/received-emails/index.ts';
import { answerLoopOf, LOOP_WINDOW_MS, type AnswerLoop } from '../threads/index.ts';

/** Whether programs may not answer in a thread for now, because two of them may be answering each other. */
export async function answerLoopIn(db: Executor, threadId: string, now: number): Promise<AnswerLoop | undefined> {
  const rows = await passedSince(db, threadId, firstIdAt(now - LOOP_WINDOW_MS));
  const passed = rows.map(({ email_id: id, direction, to_list: to, created_at: createdAt }) => ({
    direction,
    // An email past retention has only its id, which may run ahead of the clock.
    at: Number(createdAt ?? Math.min(timeOfId(id), now)),
    to: to === null ? [] : readList(to),
  }));
  return answerLoopOf(passed, now);
}
