import { rest } from '../../platform/clock/index.ts';
import { createGroupCommit } from '../../platform/db/index.ts';
import type { World } from '../../platform/world/index.ts';
import { recordAttempts, recordHealth, type Attempt, type Health } from './attempts.store.ts';

export interface Settled {
  attempt: Attempt;
  /** Whether the endpoint's own row has to learn of it. */
  isNews: boolean;
}

const TRY_AGAIN_MS = 1000;
/** What is being written when we stop has this long to end. */
const GIVE_UP_MS = 1000;
/** Nobody waits for what is written here, so a busy time writes less often and more at once. */
const GATHER_MS = 20;

/**
 * Writes attempts down, those of all endpoints together. If a power cut takes some of it back, they are made again, as
 * after a crash just before it was written: no commit waits for the disk. An attempt that was made is not made
 * again because the database is away for a while: it is written when the database is back. False when we stop before.
 */
export function createSettle(world: World, interrupt: AbortSignal): (settled: Settled) => Promise<boolean> {
  const commits = createGroupCommit({ tx: world.db.txUnsynced });
  const write = commits.lane<Settled, void>(async (tx, items) => {
    await recordAttempts(
      tx,
      items.map((item) => item.attempt),
    );
    await recordHealth(tx, healthOf(items));
    return items.map(() => undefined);
  });
  let gathering: Promise<void> | undefined;
  async function writeTogether(settled: Settled): Promise<void> {
    if (gathering) await gathering;
    const written = write(settled);
    gathering ??= written
      .catch(() => undefined)
      .then(() => rest(GATHER_MS))
      .then(() => {
        gathering = undefined;
      });
    return written;
  }
  return async (settled) => {
    for (;;) {
      try {
        return await unlessGivenUp(world, interrupt, writeTogether(settled));
      } catch (error) {
        const { webhookId, eventId } = settled.attempt;
        world.log.error({ err: error, webhookId, eventId }, 'could not write down a webhook attempt');
        if (interrupt.aborted) return false;
        await pause(world, interrupt);
      }
    }
  };
}

/** A statement that waits, for a lock of somebody else's, keeps nobody from stopping. */
function unlessGivenUp(world: World, interrupt: AbortSignal, written: Promise<void>): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const giveUp = (): void => void world.clock.timer(GIVE_UP_MS, () => resolve(false));
    if (interrupt.aborted) giveUp();
    else interrupt.addEventListener('abort', giveUp, { once: true });
    written.then(() => resolve(true), reject).finally(() => interrupt.removeEventListener('abort', giveUp));
  });
}

function pause(world: World, interrupt: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const cancel = world.clock.timer(TRY_AGAIN_MS, resolve);
    const stop = (): void => {
      cancel();
      resolve();
    };
    interrupt.addEventListener('abort', stop, { once: true });
  });
}

/** Of attempts that ended at the same time, success counts: something got through. */
function healthOf(items: readonly Settled[]): Health[] {
  const byWebhook = Map.groupBy(
    items.filter((item) => item.isNews).map((item) => item.attempt),
    (attempt) => attempt.webhookId,
  );
  return [...byWebhook].map(([webhookId, attempts]) => {
    const succeeded = attempts.filter((attempt) => attempt.isSuccess).map((attempt) => attempt.sentAt);
    const succeededAt = succeeded.length === 0 ? null : Math.max(...succeeded);
    const failed = attempts
      .filter((attempt) => !attempt.isSuccess && attempt.sentAt > (succeededAt ?? -Infinity))
      .map((attempt) => attempt.sentAt);
    return { webhookId, succeededAt, failedAt: failed.length === 0 ? null : Math.min(...failed) };
  });
}
