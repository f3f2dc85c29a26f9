import { repeat, stopwatch } from '../../platform/clock.ts';
import type { Store } from '../../platform/store.ts';
import { forgetNode, hearNode } from './throttles.store.ts';

const HEARD_MS = 5_000;
const LIVE_MS = 20_000;
/** Nodes that cannot all have a connection take turns of this length. */
const TURN_MS = 60_000;
/** The end of a turn, and the time after a process joins, in which connections that are too many end with their messages. */
const PAUSE_MS = 10_000;

/** Time for which a process that has joined others delivers nothing. */
export const JOINING_MS = PAUSE_MS;

const NODES_CHANGED = 'delivering nodes changed';

export interface LimitParts {
  /** Returns the part of a limit for this process. A rate is divided evenly; connections are whole. */
  partOf(limit: number, kind: 'connections' | 'rate'): number;
  /** Calls back when parts change; the returned function ends that. */
  onChange(notify: () => void): () => void;
  /** Whether the connections of the others may still be more than their parts, because this process has just joined them. */
  isJoining(): boolean;
  start(): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Divides the limits of receivers among the processes that deliver, because a receiver counts them as one sender. With SQLite
 * there is one process. Where a limit has fewer connections than there are processes, they take turns. `own` is the lease owner
 * of this process; `ended` are those that were killed before it in this data folder, whose part it takes over.
 */
export function createLimitParts(
  { db, clock, log }: Pick<Store, 'db' | 'clock' | 'log'>,
  { own, ended }: { own: string; ended: readonly string[] },
): LimitParts {
  const listeners = new Set<() => void>();
  let nodes = [own];
  let joinedMs: (() => number) | undefined;
  let stops: (() => void)[] = [];
  let hearing: Promise<unknown> = Promise.resolve();

  async function hear(): Promise<void> {
    const before = nodes.join();
    const heard = await hearNode(db, own, LIVE_MS);
    nodes = heard.length === 0 ? [own] : heard;
    if (nodes.join() !== before) for (const notify of listeners) notify();
  }
  function hearSafely(): Promise<void> {
    const underWay = hear().catch((err: unknown) => log.warn({ err }, 'the other delivering nodes could not be read'));
    hearing = Promise.all([hearing, underWay]).then(() => undefined);
    return underWay;
  }

  /** Joins the others, unless this process takes over the part of one that was killed, which they still leave free. */
  async function join(): Promise<void> {
    const heard = await hearNode(db, own, LIVE_MS);
    for (const id of ended) await forgetNode(db, id);
    nodes = heard.filter((id) => !ended.includes(id));
    if (nodes.length > 1 && nodes.length === heard.length) joinedMs = stopwatch();
  }

  function takeTurns(): void {
    const untilMs = TURN_MS - PAUSE_MS - (clock.now() % TURN_MS);
    const waitMs = untilMs > 0 ? untilMs : untilMs + PAUSE_MS;
    const cancel = clock.timer(waitMs, () => {
      stops = stops.filter((one) => one !== cancel);
      if (nodes.length > 1) for (const notify of listeners) notify();
      takeTurns();
    });
    stops.push(cancel);
  }

  return {
    partOf(limit, kind) {
      const count = nodes.length;
      if (count === 1) return limit;
      if (kind === 'rate') return limit / count;
      const rank = nodes.indexOf(own);
      const whole = Math.floor(limit / count);
      if (whole > 0) return whole + (rank < limit % count ? 1 : 0);
      const turn = Math.floor(clock.now() / TURN_MS);
      const isPause = clock.now() % TURN_MS >= TURN_MS - PAUSE_MS;
      return !isPause && (rank - turn + count * turn) % count < limit ? 1 : 0;
    },
    onChange(notify) {
      listeners.add(notify);
      return () => void listeners.delete(notify);
    },
    isJoining: () => joinedMs !== undefined && joinedMs() < JOINING_MS,
    async start() {
      if (db.dialect === 'sqlite') return;
      await join();
      db.announce(NODES_CHANGED);
      stops.push(
        db.onAnnounced(NODES_CHANGED, () => void hearSafely()),
        repeat(clock, HEARD_MS, hearSafely),
      );
      takeTurns();
    },
    async stop() {
      for (const stop of stops) stop();
      stops = [];
      if (db.dialect === 'sqlite') return;
      // It would sign this process on again.
      await hearing;
      await forgetNode(db, own).catch((err: unknown) => log.warn({ err }, 'a delivering node could not be signed off'));
      db.announce(NODES_CHANGED);
    },
  };
}
