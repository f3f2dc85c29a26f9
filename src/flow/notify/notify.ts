import { repeat, rest, stopwatch } from '../../platform/clock/index.ts';
import type { World } from '../../platform/world/index.ts';
import { disableWebhook } from '../../resources/webhooks/index.ts';
import { createInterrupt } from './attempt.ts';
import { createEndpointLine, type EndpointLine } from './endpoint-line.ts';
import {
  endpointsWithWork,
  failingSinceBefore,
  isFailingSince,
  leaseEndpoints,
  nextDueAt,
  releaseAll,
  releaseEndpoints,
} from './notify.store.ts';
import { createPayloads } from './payloads.ts';
import { createRoom } from './room.ts';
import { createSettle } from './settle.ts';

export interface Notify {
  start(): Promise<void>;
  /** Sends nothing more, gives what is under way `graceMs` to end, and lets go of every endpoint. */
  stop(graceMs: number): Promise<void>;
  inFlight(): number;
  /** Resolves when nothing that can be sent is due and nothing is under way. */
  idle(): Promise<void>;
}

export interface NotifyOptions {
  world: World;
  /** Tells the admins of teams whose endpoints were disabled since it was called last. */
  tellAdmins(): Promise<void>;
}

const DAY_MS = 24 * 3_600_000;
const FAILING_MS_MAX = 5 * DAY_MS;
const ENDPOINTS_A_LOOK = 5000;
/** A look steps into the index once for each endpoint: with thousands of them it is not made at every commit. */
const RESTS_PER_LOOK = 4;
const REST_MS_MAX = 250;
/** An endpoint that cannot be sent to for a reason of ours, such as a secret that does not open, is tried again after this. */
const HOLD_BACK_MS = 60_000;
/** Whoever writes to it may make something due; mail that no endpoint hears of wakes nobody. */
const WORK_TABLE = 'webhook_events';
/** What writes to these may change who is sent what. */
const ENDPOINT_TABLES = ['webhooks', 'teams'];

interface Held {
  line: EndpointLine;
  leaseUntil: number;
  /** Nothing was under way when leases were last renewed. */
  wasQuiet: boolean;
}

interface HeldBack {
  until: number;
  /** Said once, however often it is tried again. */
  reason: string;
}

/**
 * Sends what lies in the outboxes. Each endpoint has a line of its own, held by one process at a time; here is decided
 * which of them have work, and nothing is ever sent.
 */
export function createNotify({ world, tellAdmins }: NotifyOptions): Notify {
  const { poll_ms: pollMs, lease_seconds: leaseSeconds, ...limits } = world.config.webhooks;
  const leaseMs = leaseSeconds * 1000;
  const owner = world.ids.uuid();
  const held = new Map<string, Held>();
  const heldBack = new Map<string, HeldBack>();
  const interrupt = new AbortController();
  const parts = {
    world,
    owner,
    windowMax: limits.max_in_flight_per_endpoint,
    room: createRoom(limits.max_in_flight),
    payloads: createPayloads(world),
    settle: createSettle(world, interrupt.signal),
    interrupt: createInterrupt(interrupt.signal),
    onQuiet: tellIdle,
  };
  let state: 'new' | 'running' | 'stopped' = 'new';
  let looking: Promise<void> | undefined;
  const background = new Set<Promise<void>>();
  let lookAgain = false;
  let cancelPoll = (): void => undefined;
  let stopRenewing = (): void => undefined;
  let stopListening: (() => void)[] = [];
  const idleWaiters: (() => void)[] = [];

  function wake(): void {
    if (state !== 'running') return;
    lookAgain = true;
    looking ??= look();
  }

  async function look(): Promise<void> {
    cancelPoll();
    let nextAt = world.clock.now() + pollMs;
    try {
      // Something may fall due while we look.
      while ((lookAgain || nextAt <= world.clock.now()) && state === 'running') {
        lookAgain = false;
        const elapsedMs = stopwatch();
        const now = world.clock.now();
        nextAt = now + pollMs;
        await wakeLines(now);
        nextAt = Math.min(nextAt, (await nextDueAt(world.db, { owner, now })) ?? Infinity);
        await rest(Math.min(REST_MS_MAX, elapsedMs() * RESTS_PER_LOOK));
      }
    } catch (error) {
      world.log.error({ err: error }, 'could not look for webhooks to send');
    }
    looking = undefined;
    if (state === 'running') cancelPoll = world.clock.timer(nextAt - world.clock.now(), wake);
    tellIdle();
  }

  async function wakeLines(now: number): Promise<void> {
    const ids = await endpointsWithWork(world.db, { owner, now, limit: ENDPOINTS_A_LOOK });
    await hold(ids.filter((id) => !held.has(id) && (heldBack.get(id)?.until ?? 0) <= now));
    for (const id of ids) held.get(id)?.line.wake();
  }

  async function hold(ids: string[]): Promise<void> {
    if (ids.length === 0) return;
    const now = world.clock.now();
    const until = now + leaseMs;
    for (const [id, teamId] of await leaseEndpoints(world.db, ids, { owner, now, until })) {
      const line: EndpointLine = createEndpointLine({
        ...parts,
        id,
        room: parts.room.forEndpoint(teamId),
        isHeld: () => (held.get(id)?.leaseUntil ?? 0) > world.clock.now(),
        // A line that was let go may learn late that it is lost, when another one is held.
        onLost: () => void (held.get(id)?.line === line && letGo(id)),
        onDefect: (error) => holdBack(id, error),
        onFailure: (failingSince) => onFailure(id, failingSince),
      });
      held.set(id, { line, leaseUntil: until, wasQuiet: false });
    }
  }

  function letGo(id: string): void {
    const line = held.get(id)?.line;
    held.delete(id);
    if (line) void inBackground(line.stop());
  }

  /** Another process may be able to send to it: one whose instance key is the right one. */
  function holdBack(id: string, error: unknown): void {
    const reason = String(error);
    const isKnown = heldBack.get(id)?.reason === reason;
    heldBack.set(id, { until: world.clock.now() + HOLD_BACK_MS, reason });
    if (!isKnown) world.log.error({ err: error, webhookId: id }, 'a webhook cannot be sent to and is held back');
    const line = held.get(id)?.line;
    held.delete(id);
    if (line) void inBackground(line.stop().then(() => releaseEndpoints(world.db, [id], owner)));
  }

  /** What is tried again and held back no more is forgotten after a while. */
  function forgetHeldBack(now: number): void {
    for (const [id, { until }] of heldBack) if (until + 10 * HOLD_BACK_MS < now) heldBack.delete(id);
  }

  async function onFailure(id: string, failingSince: number): Promise<void> {
    const before = world.clock.now() - FAILING_MS_MAX;
    try {
      if (failingSince <= before && (await isFailingSince(world.db, id, before))) await disableFailing(id);
    } catch (error) {
      // Looked at again with the next renewal of leases.
      world.log.error({ err: error, webhookId: id }, 'could not disable a webhook that fails');
    }
  }

  async function disableFailing(id: string): Promise<void> {
    if (!(await disableWebhook(world, id, 'failing'))) return;
    world.log.warn({ webhookId: id }, 'a webhook was disabled after five days without success');
    void inBackground(tellAdmins());
  }

  /** An endpoint whose events have all had their ten attempts fails no more, and still nothing has reached it. */
  async function disableAllFailing(): Promise<void> {
    for (const id of await failingSinceBefore(world.db, world.clock.now() - FAILING_MS_MAX)) await disableFailing(id);
  }

  function inBackground(work: Promise<unknown>): Promise<void> {
    const done = work
      .catch((error: unknown) => world.log.error({ err: error }, 'could not end the work on a webhook'))
      .then(() => {
        background.delete(done);
        tellIdle();
      });
    background.add(done);
    return done;
  }

  /** As long as anything is under way, nobody else is offered the endpoint; what has rested for a while is let go. */
  async function renew(): Promise<void> {
    await disableAllFailing();
    void inBackground(tellAdmins());
    const rested = [...held].filter(([, { line, wasQuiet }]) => wasQuiet && line.isQuiet()).map(([id]) => id);
    for (const id of rested) letGo(id);
    if (rested.length > 0) await releaseEndpoints(world.db, rested, owner);
    const now = world.clock.now();
    forgetHeldBack(now);
    if (held.size === 0) return;
    const until = now + leaseMs;
    // Those that are taken meanwhile have just been leased.
    const asked = new Map(held);
    const kept = await leaseEndpoints(world.db, [...asked.keys()], { owner, now, until });
    for (const [id, entry] of asked) {
      if (held.get(id) !== entry) continue;
      entry.wasQuiet = entry.line.isQuiet();
      if (kept.has(id)) entry.leaseUntil = until;
      else letGo(id);
    }
    wake();
  }

  const isIdle = (): boolean =>
    looking === undefined && background.size === 0 && [...held.values()].every(({ line }) => line.isQuiet());

  function tellIdle(): void {
    if (idleWaiters.length === 0 || !isIdle()) return;
    for (const tell of idleWaiters.splice(0)) tell();
  }

  return {
    async start() {
      // The data folder is this process's alone, so whoever held something is gone.
      if (world.db.dialect === 'sqlite') await releaseAll(world.db);
      state = 'running';
      const endpointsChanged = (): void => {
        for (const { line } of held.values()) line.changed();
        for (const entry of heldBack.values()) entry.until = 0;
        wake();
      };
      stopListening = [
        world.db.onCommit(WORK_TABLE, wake),
        ...ENDPOINT_TABLES.map((table) => world.db.onCommit(table, endpointsChanged)),
      ];
      stopRenewing = repeat(world.clock, leaseMs / 3, () => inBackground(renew()));
      void inBackground(tellAdmins());
      wake();
    },
    async stop(graceMs) {
      state = 'stopped';
      for (const end of stopListening) end();
      cancelPoll();
      stopRenewing();
      await looking;
      if (graceMs <= 0) interrupt.abort();
      const cancelGrace = world.clock.timer(graceMs, () => interrupt.abort());
      const ids = [...held.keys()];
      await Promise.all([...held.values()].map(({ line }) => line.stop()));
      await Promise.all(background);
      cancelGrace();
      held.clear();
      // Leases end by themselves.
      const released = ids.length === 0 ? Promise.resolve(0) : releaseEndpoints(world.db, ids, owner);
      await released.catch((error: unknown) => world.log.warn({ err: error }, 'could not let go of webhooks'));
      tellIdle();
    },
    inFlight: () => [...held.values()].reduce((sum, { line }) => sum + line.inFlight(), 0),
    async idle() {
      if (!isIdle()) await new Promise<void>((resolve) => idleWaiters.push(resolve));
    },
  };
}
