import type { Readable } from 'node:stream';
import { refuse } from '../../../platform/refusal/index.ts';
import { createWorkLoop } from '../../../platform/work-loop/index.ts';
import type { World } from '../../../platform/world/index.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import { whyEnded } from './caller-lives.ts';
import { openListener, type ListenInput } from './open-listener.ts';
import { createStream, type ListenerStream } from './listener-stream.ts';
import { keepAlive, releaseListener, withEvents } from './listeners.store.ts';

/** Less than the silence after which proxies commonly close a connection. */
const BEAT_MS = 15_000;
/** How late an event of another node may be: on PostgreSQL we are not told of other nodes' writes. */
const POLL_MS = 500;
/** A client that takes nothing for so long is cut off; its events wait in the database. */
const STUCK_MS_MAX = 60_000;
/** Each is a connection and 64 KB. */
const STREAMS_MAX = 1000;

export interface Listeners {
  /** Opens a stream of the team's events; it ends when it is destroyed, when its key is revoked or its session ends, or with the server. */
  open(ctx: Ctx, input: ListenInput): Promise<Readable>;
  /** Ends every stream with a closing frame, and gives the clients `graceMs` to read it. */
  close(graceMs: number): Promise<void>;
}

interface OpenStream {
  ctx: Ctx;
  stream: ListenerStream;
}

export function createListeners(world: World): Listeners {
  const { db, clock, log } = world;
  const streams = new Map<string, OpenStream>();
  const leaving = new Set<Promise<void>>();
  let opening = 0;
  let isClosing = false;
  // A stream sends its events itself, as fast as they are read: the loop only wakes it.
  const loop = createWorkLoop<never>({
    ...{ name: 'listeners', clock, log, pollMs: POLL_MS, carry: () => Promise.resolve() },
    async claim() {
      const open = [...streams.values()].map(({ stream }) => stream);
      const ids = open.map((stream) => stream.listenerId);
      const busy = ids.length === 0 ? new Set<string>() : await withEvents(db, ids);
      for (const stream of open) if (busy.has(stream.listenerId)) stream.wake();
      return { items: [], left: 'nothing' };
    },
    renew: { everyMs: BEAT_MS, work: () => tend(world, streams) },
  });
  loop.start();
  const stopHearing = db.onCommit('webhook_listener_events', () => loop.wake());

  function add(ctx: Ctx, stream: ListenerStream): void {
    const { holder, readable } = stream;
    streams.set(holder, { ctx, stream });
    readable.once('close', () => {
      streams.delete(holder);
      const left = releaseListener(db, holder, clock.now())
        .catch((error: unknown) => log.warn({ err: error }, 'a listener could not be released'))
        .then(() => void leaving.delete(left));
      leaving.add(left);
    });
    readable.on('error', (error) => log.warn({ err: error, listenerId: stream.listenerId }, 'a listener broke off'));
  }

  return {
    async open(ctx, input) {
      if (isClosing) throw refuse('service_unavailable', { say: 'The server is stopping; try again in a moment.' });
      if (streams.size + opening >= STREAMS_MAX) {
        throw refuse('service_unavailable', {
          say: `This server streams to ${STREAMS_MAX} listeners, and all are taken.`,
        });
      }
      opening++;
      try {
        const stream = createStream(ctx, await openListener(ctx, input));
        add(ctx, stream);
        if (isClosing) stream.end('shutting_down');
        return stream.readable;
      } finally {
        opening--;
      }
    },
    async close(graceMs) {
      isClosing = true;
      stopHearing();
      const open = [...streams.values()].map(({ stream }) => stream);
      const closed = open.map(
        ({ readable }) => new Promise<void>((resolve) => readable.once('close', () => resolve())),
      );
      for (const stream of open) stream.end('shutting_down');
      const cut = (): void => open.forEach(({ readable }) => readable.destroy());
      const cancel = graceMs === 0 ? cut() : clock.timer(graceMs, cut);
      await Promise.all([...closed, loop.stop(graceMs)]);
      cancel?.();
      await Promise.all(leaving);
    },
  };
}

/** Sends a heartbeat on each stream and notes it in the database; ends streams that have lost their listener or their key. */
async function tend(world: World, streams: ReadonlyMap<string, OpenStream>): Promise<void> {
  const now = world.clock.now();
  for (const { stream } of streams.values()) {
    const since = stream.stuckSince();
    if (since !== undefined && now - since > STUCK_MS_MAX) stream.readable.destroy();
    else stream.beat();
  }
  // Streams that are opened meanwhile are left to the next time.
  const asked = [...streams];
  if (asked.length === 0) return;
  const holders = asked.map(([holder]) => holder);
  const mine = await keepAlive(world.db, holders, now);
  for (const [holder, { ctx, stream }] of asked) {
    const ended = mine.has(holder) ? await whyEnded(world, ctx) : 'lost';
    if (ended) stream.end(ended);
  }
}
