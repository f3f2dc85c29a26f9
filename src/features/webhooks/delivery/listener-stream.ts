import { Readable } from 'node:stream';
import { publicEventId } from '../../../mail/events/index.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import { payloadsOf } from '../endpoints/index.ts';
import { whyEnded } from './caller-lives.ts';
import { closedFrame, eventFrame, HEARTBEAT, listeningFrame, type ClosedReason } from './listener-frames.ts';
import type { OpenListener } from './open-listener.ts';
import { takeNext } from './listeners.store.ts';

/** What one stream keeps in memory: these events, and what Node has taken of them and the client has not. */
const EVENTS_PER_BATCH = 20;
const BUFFER_BYTES = 64 * 1024;

export interface ListenerStream {
  listenerId: string;
  holder: string;
  readable: Readable;
  /** Says that events are waiting. */
  wake(): void;
  /** Writes a heartbeat if nothing else is being written. */
  beat(): void;
  end(reason: ClosedReason): void;
  /** Since when the client has taken nothing of what is waiting; undefined while nothing is. */
  stuckSince(): number | undefined;
}

/**
 * The bytes of one stream, made only as fast as they are read: waiting events stay in the database. Each event is
 * signed when it leaves, so that its timestamp is fresh.
 */
export function createStream(ctx: Ctx, listener: OpenListener): ListenerStream {
  const { store } = ctx;
  let isAwake = true;
  let isBeatDue = false;
  let ending: ClosedReason | undefined;
  let readAt: number | undefined = store.clock.now();
  let stir: (() => void) | undefined;

  async function* frames(): AsyncGenerator<string> {
    yield listeningFrame(listener);
    while (!ending && !readable.destroyed) {
      if (isAwake) yield* waiting();
      else if (isBeatDue) yield beatOnce();
      else await idle();
      readAt = store.clock.now();
    }
    if (ending) yield closedFrame(ending);
  }

  async function* waiting(): AsyncGenerator<string> {
    isAwake = false;
    // Checked for each batch: no event is sent to a key that has been revoked, or to a person who has left.
    const ended = await whyEnded(store, ctx);
    if (ended) return void (ending = ended);
    const taken = await takeNext(store.db, listener, EVENTS_PER_BATCH, store.clock.now());
    if (!taken) return void (ending ??= 'lost');
    if (taken.events.length === EVENTS_PER_BATCH) isAwake = true;
    const payloads = await payloadsOf(store, ctx.teamId, taken.events);
    for (const { eventId, type } of taken.events) {
      const event = { id: publicEventId(eventId), type, payload: payloads.get(eventId) ?? '' };
      const position = { listenerId: listener.id, batch: taken.batch, eventId };
      readAt = store.clock.now();
      yield eventFrame(position, event, listener.key, Math.floor(store.clock.now() / 1000));
      if (ending) return;
    }
  }

  function beatOnce(): string {
    isBeatDue = false;
    return HEARTBEAT;
  }

  async function idle(): Promise<void> {
    readAt = undefined;
    await new Promise<void>((resolve) => (stir = resolve));
    stir = undefined;
  }

  const rouse = (note: () => void) => (): void => {
    note();
    stir?.();
  };
  const readable = readableOf(frames(), () => stir?.());
  return {
    listenerId: listener.id,
    holder: listener.holder,
    readable,
    wake: rouse(() => (isAwake = true)),
    beat: rouse(() => (isBeatDue = true)),
    end(reason) {
      ending ??= reason;
      stir?.();
    },
    stuckSince: () => readAt,
  };
}

/** Asks for the next frame when there is room for it; closing the stream wakes a generator that waits for events. */
function readableOf(frames: AsyncGenerator<string>, onClose: () => void): Readable {
  const iterator: AsyncIterableIterator<string> = {
    next: () => frames.next(),
    return() {
      onClose();
      return frames.return(undefined);
    },
    [Symbol.asyncIterator]: () => iterator,
  };
  return Readable.from(iterator, { objectMode: false, highWaterMark: BUFFER_BYTES });
}
