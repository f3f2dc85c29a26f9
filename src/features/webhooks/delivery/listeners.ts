import { Readable } from 'node:stream';
import { refuse } from '../../../platform/refusal.ts';
import { createWorkLoop } from '../../../platform/work-loop/index.ts';
import type { World } from '../../../platform/world.ts';
import { lockTeam, type Ctx } from '../../../tenancy/access/index.ts';
import {
  keepAlive,
  releaseListener,
  withEvents,
  countOpen,
  findListener,
  resumeListener,
  insertListener,
  listIdle,
  olderTransactionsOver,
  removeListeners,
  takeNext,
  listAbandoned,
  listOverfull,
  removeEventsOfNobody,
  removeSent,
} from './listeners.store.ts';
import type { KeyObject } from 'node:crypto';
import type { SealedColumn } from '../../../platform/secrets/index.ts';
import { newWebhookSecret, webhookKey, webhookSecretBytes } from '../../../protocol/webhook-signature.ts';
import {
  NO_EVENT,
  closedFrame,
  eventFrame,
  HEARTBEAT,
  listeningFrame,
  type StreamPosition,
  type ClosedReason,
} from './listener-frames.ts';
import { stopwatch } from '../../../platform/clock.ts';
import { publicEventId } from '../../../mail/events/index.ts';
import { loadPayloads } from '../endpoints/payload.ts';
import type { Store } from '../../../platform/store.ts';
import { keyLives } from '../../../tenancy/api-keys/index.ts';
import { teamOfSession } from '../../../tenancy/session-rows/index.ts';

/** Each stream costs a connection, and a row for each event of the team. */
const STREAMS_PER_TEAM_MAX = 10;
/** A stream whose process died counts no more after this: it missed three heartbeats. */
const SILENCE_MS_MAX = 45_000;
/** Limit for waiting for transactions that began before the listener existed: one might never end. */
const OLDER_MS_MAX = 5000;
const PURPOSE = 'webhook listener secret';

export const SEALED_LISTENER_SECRETS: SealedColumn = {
  table: 'webhook_listeners',
  column: 'secret_sealed',
  purpose: PURPOSE,
};

interface ListenInput {
  events: readonly string[];
  /** Position at which an earlier stream of this listener broke off. */
  position?: StreamPosition | undefined;
}

/** A listener that one stream holds. */
interface OpenListener {
  id: string;
  holder: string;
  events: readonly string[];
  key: KeyObject;
  /** Signing secret; null if it was shown before. */
  secret: string | null;
  position: StreamPosition;
  resumed: boolean;
}

/**
 * Resumes a listener where its client left it, or makes a new one. From then on each event of the team is recorded for
 * it, in the event's own transaction.
 */
async function openListener(ctx: Ctx, input: ListenInput): Promise<OpenListener> {
  const { store, teamId } = ctx;
  const at = store.clock.now();
  const holder = store.ids.uuid();
  const events = JSON.stringify(input.events);
  const opened = await store.db.tx(async (tx): Promise<OpenListener> => {
    await lockTeam(tx, teamId);
    const position = input.position;
    const found = position && (await findListener(tx, teamId, position.listenerId));
    const open = await countOpen(tx, teamId, at - SILENCE_MS_MAX, found?.id ?? '');
    if (open >= STREAMS_PER_TEAM_MAX) throw tooMany();
    if (found) {
      await resumeListener(tx, found.id, position, { events, holder, at });
      const key = webhookKey(store.secrets.open(found.secret_sealed, PURPOSE, found.id));
      return { id: found.id, holder, events: input.events, key, secret: null, position, resumed: true };
    }
    await removeListeners(tx, (await listIdle(tx, teamId)).slice(STREAMS_PER_TEAM_MAX));
    const id = store.ids.prefixed('lsn_');
    const secret = newWebhookSecret(Buffer.from(store.ids.hex(webhookSecretBytes), 'hex'));
    const sealed = store.secrets.seal(secret, PURPOSE, id);
    const row = { id, team_id: teamId, events, secret_sealed: sealed, last_batch: 0 };
    await insertListener(tx, row, holder, at);
    const start = { listenerId: id, batch: 0, eventId: NO_EVENT };
    return { id, holder, events: input.events, key: webhookKey(secret), secret, position: start, resumed: false };
  });
  const elapsedMs = stopwatch();
  await olderTransactionsOver(store.db, () => elapsedMs() > OLDER_MS_MAX);
  return opened;
}

const tooMany = () =>
  refuse('validation_error', {
    status: 422,
    say: `A team may have at most ${STREAMS_PER_TEAM_MAX} open listeners; close one first.`,
  });

/**
 * Limit of what one stream keeps in memory: these events, and the bytes that Node has buffered and the client has not
 * read.
 */
const EVENTS_PER_BATCH = 20;
const BUFFER_BYTES = 64 * 1024;

interface ListenerStream {
  listenerId: string;
  holder: string;
  readable: Readable;
  /** Notifies the stream that events are waiting. */
  wake(): void;
  /** Writes a heartbeat if nothing else is being written. */
  beat(): void;
  end(reason: ClosedReason): void;
  /** Returns since when the client has read nothing of what is waiting; undefined while nothing waits. */
  stuckSince(): number | undefined;
}

/**
 * Creates a stream whose bytes are made only as fast as they are read: waiting events stay in the database. Each event
 * is signed when it leaves, so that its timestamp is fresh.
 */
function createStream(ctx: Ctx, listener: OpenListener): ListenerStream {
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
    const ended = await findEndReason(store, ctx);
    if (ended) return void (ending = ended);
    const taken = await takeNext(store.db, listener, EVENTS_PER_BATCH, store.clock.now());
    if (!taken) return void (ending ??= 'lost');
    if (taken.events.length === EVENTS_PER_BATCH) isAwake = true;
    const payloads = await loadPayloads(store, ctx.teamId, taken.events);
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
  const readable = toReadable(frames(), () => stir?.());
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

/**
 * Makes a readable that requests the next frame when there is room for it; closing it wakes a generator that waits for
 * events.
 */
function toReadable(frames: AsyncGenerator<string>, onClose: () => void): Readable {
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

/** Less than the silence after which proxies commonly close a connection. */
const BEAT_MS = 15_000;
/** Maximum delay of an event of another node: on PostgreSQL, writes of other nodes are not announced to us. */
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
    name: 'listeners',
    clock,
    log,
    pollMs: POLL_MS,
    process: () => Promise.resolve(),
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
    readable.on('error', (error) =>
      log.warn({ err: error, listenerId: stream.listenerId }, 'a listener was disconnected by an error'),
    );
  }

  return {
    async open(ctx, input) {
      if (isClosing) throw refuse('service_unavailable', { say: 'The server is stopping; try again in a moment.' });
      if (streams.size + opening >= STREAMS_MAX) {
        throw refuse('service_unavailable', {
          say: `This server already streams to ${STREAMS_MAX} listeners, which is its limit; try again later.`,
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

/**
 * Sends a heartbeat on each stream and records it in the database; ends streams that have lost their listener or their
 * key.
 */
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
    const ended = mine.has(holder) ? await findEndReason(world, ctx) : 'lost';
    if (ended) stream.end(ended);
  }
}

/** Time that a listener waits for its client to return, while it keeps collecting events. */
const RESUME_MS_MAX = 300_000;
/** Longer than a stream can be stuck and a client be away, together. */
const SENT_KEPT_MS = 600_000;
/** Events that may wait for one listener, however slow its client is. */
const WAITING_MAX = 100_000;
const ROWS_AT_ONCE = 1000;

/** Removes abandoned listeners, those with too many events waiting, and sent events that need not be sent again. */
export async function forgetListeners(world: World): Promise<void> {
  const { db, clock } = world;
  const abandoned = await listAbandoned(db, clock.now() - RESUME_MS_MAX, ROWS_AT_ONCE);
  await removeListeners(db, [...abandoned, ...(await listOverfull(db, WAITING_MAX))]);
  while ((await removeSent(db, clock.now() - SENT_KEPT_MS, ROWS_AT_ONCE)) === ROWS_AT_ONCE);
  while ((await removeEventsOfNobody(db, ROWS_AT_ONCE)) === ROWS_AT_ONCE);
}

/** Returns the reason that a caller could not open its stream again; undefined while it could. */
async function findEndReason(
  store: Store,
  { actor, teamId }: Pick<Ctx, 'actor' | 'teamId'>,
): Promise<ClosedReason | undefined> {
  if (actor.kind !== 'session') return (await keyLives(store, actor)) ? undefined : 'key_revoked';
  const current = await teamOfSession(store.db, actor.sessionId, store.clock.now());
  return current === teamId ? undefined : 'session_ended';
}
