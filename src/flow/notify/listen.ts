import type { Readable } from 'node:stream';
import { refuse } from '../../platform/refusal/index.ts';
import type { World } from '../../platform/world/index.ts';
import { keyLives } from '../../resources/api-keys/index.ts';
import type { Ctx } from '../../resources/access/index.ts';
import { openListener, type ListenInput } from './listen-open.ts';
import { createStream, type ListenerStream } from './listen-stream.ts';
import { keepAlive, letGo, withEvents } from './listen.store.ts';

/** Less than the silence after which proxies commonly close a connection. */
const BEAT_MS = 15_000;
/** How late an event of another node may be: PostgreSQL's other writers do not tell us. */
const POLL_MS = 500;
/** A reader that takes nothing for so long is cut off; what waits for it waits in the database. */
const STUCK_MS_MAX = 60_000;
/** Each is a connection and 64 KB. */
const STREAMS_MAX = 1000;

export interface Listeners {
  /** One stream of the team's events; it ends when it is destroyed, when its key is revoked, or with the server. */
  open(ctx: Ctx, input: ListenInput): Promise<Readable>;
  /** Tells every stream that it ends, and waits `graceMs` for their readers to take that in. */
  close(graceMs: number): Promise<void>;
}

interface Held {
  ctx: Ctx;
  stream: ListenerStream;
}

export function createListeners(world: World): Listeners {
  const { db, clock, log } = world;
  const held = new Map<string, Held>();
  const leaving = new Set<Promise<void>>();
  let opening = 0;
  let isClosing = false;
  let isLooking = false;
  let lookAgain = false;
  let cancelPoll: (() => void) | undefined;
  let cancelBeat: (() => void) | undefined;
  const stopHearing = db.onCommit('webhook_listener_events', () => void look());

  /** Wakes the streams that have something to send. */
  async function look(): Promise<void> {
    lookAgain = true;
    if (isLooking) return;
    isLooking = true;
    while (lookAgain && held.size > 0) {
      lookAgain = false;
      const ids = [...held.values()].map(({ stream }) => stream.listenerId);
      const busy = await withEvents(db, ids).catch(noted);
      for (const { stream } of held.values()) if (busy?.has(stream.listenerId)) stream.wake();
    }
    isLooking = false;
  }

  function noted(error: unknown): undefined {
    log.warn({ err: error }, 'listeners could not be looked after');
  }

  function poll(): void {
    cancelPoll = clock.timer(POLL_MS, () => {
      void look();
      if (held.size > 0) poll();
    });
  }

  function beat(): void {
    cancelBeat = clock.timer(BEAT_MS, () => {
      void tend().catch(noted);
      if (held.size > 0) beat();
    });
  }

  /** A sign of life for each stream, to its reader and to the database, and an end for those that have lost their right. */
  async function tend(): Promise<void> {
    const now = clock.now();
    for (const { stream } of held.values()) {
      const since = stream.stuckSince();
      if (since !== undefined && now - since > STUCK_MS_MAX) stream.readable.destroy();
      else stream.beat();
    }
    // Of those that are opened meanwhile nothing is asked, and nothing told.
    const asked = [...held];
    const mine = await keepAlive(
      db,
      asked.map(([holder]) => holder),
      now,
    );
    for (const [holder, { ctx, stream }] of asked) {
      if (!mine.has(holder)) stream.end('lost');
      else if (!(await keyLives(world, ctx.actor))) stream.end('key_revoked');
    }
  }

  function hold(ctx: Ctx, stream: ListenerStream): void {
    const { holder, readable } = stream;
    held.set(holder, { ctx, stream });
    readable.once('close', () => {
      held.delete(holder);
      const left = letGo(db, holder, clock.now())
        .catch(noted)
        .then(() => void leaving.delete(left));
      leaving.add(left);
    });
    readable.on('error', (error) => log.warn({ err: error, listenerId: stream.listenerId }, 'a listener broke off'));
    if (held.size > 1) return;
    cancelPoll?.();
    cancelBeat?.();
    poll();
    beat();
  }

  return {
    async open(ctx, input) {
      if (isClosing) throw refuse('service_unavailable', { say: 'The server is stopping; try again in a moment.' });
      if (held.size + opening >= STREAMS_MAX) {
        throw refuse('service_unavailable', {
          say: `This server streams to ${STREAMS_MAX} listeners, and all are taken.`,
        });
      }
      opening++;
      try {
        const stream = createStream(ctx, await openListener(ctx, input));
        hold(ctx, stream);
        if (isClosing) stream.end('shutting_down');
        return stream.readable;
      } finally {
        opening--;
      }
    },
    async close(graceMs) {
      isClosing = true;
      stopHearing();
      cancelPoll?.();
      cancelBeat?.();
      const streams = [...held.values()].map(({ stream }) => stream);
      const closed = Promise.all(
        streams.map(({ readable }) => new Promise<void>((resolve) => readable.once('close', () => resolve()))),
      );
      for (const stream of streams) stream.end('shutting_down');
      const cancel = clock.timer(graceMs, () => streams.forEach(({ readable }) => readable.destroy()));
      if (graceMs === 0) streams.forEach(({ readable }) => readable.destroy());
      await closed;
      cancel();
      await Promise.all(leaving);
    },
  };
}
