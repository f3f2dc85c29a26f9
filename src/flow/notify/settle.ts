import { rest } from '../../platform/clock/index.ts';
import { isDatabaseSetback, type Executor } from '../../platform/db/index.ts';
import type { World } from '../../platform/world/index.ts';
import { recordAttempts, recordHealth, type Attempt, type Health } from './attempts.store.ts';

export interface Settled {
  attempt: Attempt;
  /** Whether the endpoint's own row has to learn of it. */
  isNews: boolean;
  /** Called once: when it is written, however long that takes, or with false when we stop before. */
  over(settled: Settled, isWritten: boolean): void;
}

const TRY_AGAIN_MS = 1000;
/** What is being written when we stop has this long to end. */
const GIVE_UP_MS = 1000;
/** Nobody waits for what is written here, so a busy time writes less often and more at once. */
const GATHER_MS = 20;
/** Keeps one commit short enough that nobody notices it. */
const TOGETHER_MAX = 256;

/**
 * Writes attempts down, those of all endpoints together. If a power cut takes some of it back, they are made again, as
 * after a crash just before it was written: no commit waits for the disk. An attempt that was made is not made
 * again because the database is away for a while: it is written when the database is back.
 */
export function createSettle(world: World, interrupt: AbortSignal): (settled: Settled) => void {
  /** Handed in and not over. */
  const open = new Set<Settled>();
  const waiting: Settled[] = [];
  let isWriting = false;
  /** What the database refused, until it is asked again. */
  const refused: Settled[] = [];
  let cancelRetry: (() => void) | undefined;
  let isGivenUp = false;

  /** A statement that waits, for a lock of somebody else's, keeps nobody from stopping. */
  function stop(): void {
    tryAgain();
    world.clock.timer(GIVE_UP_MS, () => {
      isGivenUp = true;
      for (const settled of open) end(settled, false);
    });
  }
  interrupt.addEventListener('abort', stop, { once: true });

  function end(settled: Settled, isWritten: boolean): void {
    if (open.delete(settled)) settled.over(settled, isWritten);
  }

  function enqueue(settled: readonly Settled[]): void {
    for (const one of settled) waiting.push(one);
    if (!isWriting && waiting.length > 0) void writeAll();
  }

  async function writeAll(): Promise<void> {
    isWriting = true;
    while (waiting.length > 0 && !isGivenUp) {
      await write(waiting.splice(0, TOGETHER_MAX));
      if (waiting.length < TOGETHER_MAX) await rest(GATHER_MS);
    }
    isWriting = false;
  }

  /** One that cannot be written must not keep its neighbours from it; a full disk or a lost connection is no one's fault. */
  async function write(lot: readonly Settled[]): Promise<void> {
    try {
      await world.db.txUnsynced((tx) => record(tx, lot));
    } catch (error) {
      if (lot.length === 1 || isDatabaseSetback(error)) return refuse(lot, error);
      for (const one of lot) await write([one]);
      return;
    }
    for (const settled of lot) end(settled, true);
  }

  function refuse(lot: readonly Settled[], error: unknown): void {
    const { webhookId, eventId } = lot[0]?.attempt ?? {};
    const said = { err: error, webhookId, eventId, attempts: lot.length };
    world.log.error(said, 'could not write down attempts to send webhooks');
    if (interrupt.aborted) return lot.forEach((settled) => end(settled, false));
    for (const settled of lot) refused.push(settled);
    cancelRetry ??= world.clock.timer(TRY_AGAIN_MS, tryAgain);
  }

  function tryAgain(): void {
    cancelRetry?.();
    cancelRetry = undefined;
    enqueue(refused.splice(0));
  }

  return (settled) => {
    open.add(settled);
    if (isGivenUp) end(settled, false);
    else enqueue([settled]);
  };
}

async function record(tx: Executor, lot: readonly Settled[]): Promise<void> {
  await recordAttempts(
    tx,
    lot.map((settled) => settled.attempt),
  );
  await recordHealth(tx, healthOf(lot));
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
