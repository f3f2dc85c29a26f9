import type { SlotPool } from '../../../platform/limits/index.ts';
import type { World } from '../../../platform/world.ts';
import { parkWhatIsDue, disableWebhook } from '../endpoints/webhooks.ts';
import { insertPayloads, type Attempt, type PayloadRow } from '../endpoints/webhook-events.store.ts';
import { loadPayloads } from '../endpoints/payload.ts';
import { makeAttempt, UnusableEndpoint, type Outcome, type WriteAttempt, type OpenEndpoint } from './attempt.ts';
import { dueEvents, ownedEndpoint, failingSinceBefore, type DueEvent, type EndpointRow } from './endpoints.store.ts';
import type { GroupCommit } from '../../../platform/db/index.ts';

/** Time that an endpoint may fail without a success before it is disabled. */
const FAILING_MS_MAX = 5 * 24 * 3_600_000;

/** Time after which a lasting fault is logged again: every failed attempt of every such endpoint meets it. */
const LOG_MS = 60_000;

/** Disables the endpoints that have failed for too long: all of them, or the one given. Never rejects. */
type DisableFailing = (only?: string) => Promise<void>;

export function createDisableFailing(world: World, onDisabled: () => void): DisableFailing {
  const { db, clock, log } = world;
  let loggedAt = -Infinity;

  async function disable(id: string): Promise<void> {
    if (!(await disableWebhook(world, id, 'failing'))) return;
    log.warn({ webhookId: id }, 'a webhook was disabled after five days without success');
    onDisabled();
  }

  /** Logs a fault; the endpoint is tried again with the next renewal of leases. */
  function noteFault(error: unknown, webhookId: string | undefined): void {
    const now = clock.now();
    if (Math.abs(now - loggedAt) < LOG_MS) return;
    loggedAt = now;
    log.error({ err: error, webhookId }, 'could not disable a webhook that fails');
  }

  return async (only) => {
    try {
      const ids = await failingSinceBefore(db, clock.now() - FAILING_MS_MAX, only);
      // An endpoint that cannot be disabled must not prevent the others.
      for (const id of ids) await disable(id).catch((error: unknown) => noteFault(error, id));
    } catch (error) {
      noteFault(error, only);
    }
  };
}

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

/** Delays after the first failed try, the second, and so on; the first try is made at once. */
export const WAITS_MS: readonly number[] = [
  5 * SECOND_MS,
  30 * SECOND_MS,
  2 * MINUTE_MS,
  10 * MINUTE_MS,
  30 * MINUTE_MS,
  HOUR_MS,
  2 * HOUR_MS,
  4 * HOUR_MS,
  8 * HOUR_MS,
];

export const TRIES_MAX = WAITS_MS.length + 1;

/** Jitter in both directions: events that failed together are not retried together. */
const JITTER = 0.1;

/** Returns the time of the next try after `tries` failed ones, the last of them at `now`; undefined if none is left. */
export function nextTryAt(tries: number, now: number, random: () => number): number | undefined {
  const waitMs = WAITS_MS[tries - 1];
  return waitMs === undefined ? undefined : now + Math.round(waitMs * (1 - JITTER + 2 * JITTER * random()));
}

/**
 * Limits the concurrent requests of one endpoint. It begins with one: an endpoint that keeps up gets events in order.
 */
interface SendWindow {
  readonly size: number;
  /** Records a success after `tookMs`; `isBehind` says that more events are waiting than are read ahead. */
  succeeded(tookMs: number, isBehind: boolean): void;
  failed(): void;
}

/** An endpoint that takes this long is busy; more concurrent requests would only hold slots that others could use. */
const SLOW_MS = 1000;
/**
 * Responses this much slower than the quickest one are queued somewhere, and a larger window makes the queue longer.
 */
const LINE_FACTOR = 2;
const LINE_MS = 10;

/**
 * Makes a window with additive increase and multiplicative decrease, as in RFC 5681 §3.1: it doubles with each round
 * until the first failure, and grows by one a round after that. It grows only as long as responses take about as long
 * as they did one by one. Any failure halves it, and so does any slow success: a response after a second or more holds
 * a slot as long as a failure would, however quick the endpoint was before.
 */
export function createSendWindow(max: number): SendWindow {
  let size = 1;
  let threshold = max;
  let quickestMs = Infinity;
  const shrink = (): void => {
    threshold = Math.max(1, size / 2);
    size = threshold;
  };
  return {
    get size() {
      return Math.floor(size);
    },
    succeeded(tookMs, isBehind) {
      quickestMs = Math.min(quickestMs, tookMs);
      if (tookMs > SLOW_MS) return shrink();
      if (!isBehind || tookMs > quickestMs * LINE_FACTOR + LINE_MS) return;
      size = Math.min(max, size + (size < threshold ? 1 : 1 / size));
    },
    failed: shrink,
  };
}

/** Parts that all senders of a process share. */
export interface SenderParts {
  world: World;
  /** Name under which this process leases endpoints. */
  owner: string;
  slots: SlotPool;
  open(row: EndpointRow): OpenEndpoint;
  payloads: Payloads;
  write: WriteAttempt;
  disableFailing: DisableFailing;
}

/**
 * Number of events read at once: enough to occupy a slow endpoint for a while, and to make a commit for a quick one
 * worthwhile.
 */
const READ_MAX = 64;
/** An event of bulk mail follows after this many others. */
const OTHERS_FOR_BULK = 7;
/** Number of waiting events above which an endpoint lags. */
const BEHIND = 16;
/** Time after which the endpoint and its events are read again, as another process may have changed them. */
const FRESH_MS = 1000;
/** The same while events of bulk mail are sent: others may have come that go first. */
const BULK_FRESH_MS = 100;
/** Limit of attempts that are over and not yet recorded: if the process dies, they are made again. */
const UNWRITTEN_MAX = 512;
/** Time that writes in progress get to end at a stop: a statement that waits for a lock must not delay it. */
const GIVE_UP_MS = 1000;

type Ready = DueEvent & { payload: string };

/**
 * Sends the due events of one endpoint that this process has leased: it reads some, makes as many attempts at once as
 * the window and the fair share allow, and reads again until none is left. It waits for no other endpoint. Unsent
 * events stay due in the database.
 */
export class EndpointSender {
  readonly id: string;
  /** Time until which no other process sends to it. */
  leasedUntil: number;
  readonly #parts: SenderParts;
  readonly #window;
  /** Events that are sent and whose attempts are not yet recorded: the database still offers them. */
  readonly #sent = new Set<string>();
  #inFlight = 0;
  #isWoken = false;
  #hasEnded = false;
  /** The endpoint or its team may have changed since they were read. */
  #isStale = false;
  #readAt = -Infinity;
  /**
   * Internal error while sending, not a fault of the endpoint; `run` throws it when the attempts in progress have
   * ended.
   */
  #fault: UnusableEndpoint | undefined;
  #change: (() => void) | undefined;

  constructor(id: string, leasedUntil: number, parts: SenderParts) {
    this.id = id;
    this.leasedUntil = leasedUntil;
    this.#parts = parts;
    this.#window = createSendWindow(parts.world.config.webhooks.max_in_flight_per_endpoint);
  }

  /** Notifies the sender that more events may be due; returns false if it has ended and will not send them. */
  wake(): boolean {
    this.#isWoken = true;
    this.#changed();
    return !this.#hasEnded;
  }

  /** Makes the sender read the endpoint again before anything more is sent. */
  reread(): void {
    this.#isStale = true;
  }

  /** Sends the due events; ends when none is due or `isStopping` returns true, and all attempts are recorded. */
  async run(isStopping: () => boolean, signal: AbortSignal): Promise<void> {
    const goesOn = (): boolean => !isStopping() && !this.#fault && this.leasedUntil > this.#now();
    signal.addEventListener('abort', this.#giveUpWriting);
    try {
      while (goesOn()) {
        this.#isWoken = false;
        if (await this.#sendSome(goesOn, signal)) continue;
        while (this.#sent.size > 0 && !this.#isWoken) await this.#untilChange();
        if (!this.#isWoken) break;
      }
    } finally {
      while (this.#sent.size > 0) await this.#untilChange();
      signal.removeEventListener('abort', this.#giveUpWriting);
      this.#hasEnded = true;
    }
    if (this.#fault) throw this.#fault;
  }

  /** Sends the events of one reading; returns whether there may be more. */
  async #sendSome(goesOn: () => boolean, signal: AbortSignal): Promise<boolean> {
    const due = await this.#read();
    if (!due) return false;
    const { endpoint, events, isMore } = due;
    for (const [i, event] of events.entries()) {
      await this.#acquireSlot(endpoint.row.team_id);
      const isOvertaken = i > 0 && event.is_bulk === 1 && this.#isWoken;
      const freshMs = isOvertaken ? BULK_FRESH_MS : FRESH_MS;
      if (!goesOn() || this.#isStale || this.#now() - this.#readAt >= freshMs) {
        this.#releaseSlot();
        return true;
      }
      void this.#send(endpoint, { ...event, isBehind: isMore || events.length - i > BEHIND }, signal);
    }
    return isMore;
  }

  /** Reads the endpoint and its due events; their bodies are stored before the first of them is sent. */
  async #read(): Promise<{ endpoint: OpenEndpoint; events: Ready[]; isMore: boolean } | undefined> {
    const { world, owner, open, payloads } = this.#parts;
    this.#isStale = false;
    const row = await ownedEndpoint(world.db, this.id, owner);
    if (row?.status === 'disabled') await parkWhatIsDue(world, this.id);
    if (row?.status !== 'enabled' || row.risk_state === 'suspended') return undefined;
    const endpoint = open(row);
    const { fresh, isMore } = await this.#readDue();
    const bodies = await payloads(row.team_id, fresh);
    const events = fresh.map((event) => ({ ...event, payload: bodies.get(event.event_id) ?? '' }));
    // Taken after the query: with a database that takes a second to respond, it would otherwise always be stale at
    // once.
    this.#readAt = this.#now();
    return { endpoint, events, isMore };
  }

  /**
   * Reads due events that are not being sent: those of bulk mail after the others, but while there are many others, one of bulk mail
   * after every few.
   */
  async #readDue(): Promise<{ fresh: DueEvent[]; isMore: boolean }> {
    const { world } = this.#parts;
    // Copied now: the result of a query may still offer events that are recorded meanwhile.
    const sent = new Set(this.#sent);
    const limit = READ_MAX + sent.size;
    const read = { now: this.#now(), limit };
    const first = await dueEvents(world.db, this.id, { ...read, isBulk: false });
    const bulk = await dueEvents(world.db, this.id, { ...read, isBulk: true });
    const isFresh = (event: DueEvent): boolean => !sent.has(event.event_id);
    const freshFirst = first.filter(isFresh);
    const freshBulk = bulk.filter(isFresh);
    const fresh = mix(freshFirst, freshBulk).slice(0, READ_MAX);
    const isMore =
      fresh.length < freshFirst.length + freshBulk.length || [first, bulk].some((due) => due.length === limit);
    return { fresh, isMore };
  }

  /** Resolves when one more attempt may be made; a slot that is not used must be released. */
  async #acquireSlot(teamId: string): Promise<void> {
    const { slots } = this.#parts;
    for (;;) {
      while (!this.#hasFreeSlot()) await this.#untilChange();
      await slots.acquire(teamId, this.id);
      this.#inFlight++;
      // A failure may have made the window smaller meanwhile.
      if (this.#inFlight <= this.#window.size) return;
      this.#releaseSlot();
    }
  }

  #releaseSlot(): void {
    this.#inFlight--;
    this.#parts.slots.release(this.id);
    this.#changed();
  }

  #hasFreeSlot(): boolean {
    return this.#inFlight < this.#window.size && this.#sent.size - this.#inFlight < UNWRITTEN_MAX;
  }

  /** Makes one attempt and records it; the slot is free once the attempt is over. Never rejects. */
  async #send(endpoint: OpenEndpoint, event: Ready & { isBehind: boolean }, signal: AbortSignal): Promise<void> {
    const { world, write, disableFailing } = this.#parts;
    this.#sent.add(event.event_id);
    try {
      const { event_id: id, payload } = event;
      const outcome = await makeAttempt(world, endpoint, { id, payload }, signal).finally(() => this.#releaseSlot());
      // An attempt that is aborted without a response counts as not made.
      if (signal.aborted && outcome.status === null) return;
      // A response without end costs a connection each time: such an endpoint gets one request at a time.
      if (outcome.isSuccess && !outcome.isCut) this.#window.succeeded(outcome.durationMs, event.isBehind);
      else this.#window.failed();
      const isWritten = await write(buildAttempt(world, this.id, event, outcome), signal);
      const failingSince = endpoint.row.failing_since ?? outcome.sentAt;
      const isTooLong = !outcome.isSuccess && failingSince <= this.#now() - FAILING_MS_MAX;
      if (isWritten && isTooLong) await disableFailing(this.id);
    } catch (error) {
      this.#fault ??= new UnusableEndpoint(String(error), { cause: error });
    } finally {
      this.#sent.delete(event.event_id);
      this.#changed();
    }
  }

  readonly #giveUpWriting = (): void => {
    this.#parts.world.clock.timer(GIVE_UP_MS, () => {
      this.#sent.clear();
      this.#changed();
    });
  };

  #changed(): void {
    this.#change?.();
    this.#change = undefined;
  }

  #untilChange(): Promise<void> {
    return new Promise((resolve) => (this.#change = resolve));
  }

  #now(): number {
    return this.#parts.world.clock.now();
  }
}

/** Puts one event of bulk mail after every few others, and the remaining ones after all of them. */
function mix(others: readonly DueEvent[], ofBulk: readonly DueEvent[]): DueEvent[] {
  const mixed = others.flatMap((event, n) => {
    const next = (n + 1) % OTHERS_FOR_BULK === 0 ? ofBulk[(n + 1) / OTHERS_FOR_BULK - 1] : undefined;
    return next ? [event, next] : [event];
  });
  return [...mixed, ...ofBulk.slice(Math.floor(others.length / OTHERS_FOR_BULK))];
}

function buildAttempt(world: World, webhookId: string, event: DueEvent, outcome: Outcome): Attempt {
  const nextAt = outcome.isSuccess ? undefined : nextTryAt(event.tries + 1, world.clock.now(), world.random);
  return {
    ...outcome,
    id: world.ids.prefixed('atmpt_'),
    webhookId,
    eventId: event.event_id,
    read: { dueAt: event.due_at, tries: event.tries },
    nextAt: nextAt ?? null,
  };
}

/** Returns the exact bodies of a team's events, by event; they are stored before they are returned. */
type Payloads = (teamId: string, events: readonly DueEvent[]) => Promise<Map<string, string>>;

export function createPayloads(world: World, commits: GroupCommit): Payloads {
  const write = commits.lane<readonly PayloadRow[], number>(
    async (tx, items) => {
      // Two endpoints may have rendered the same event: each gets the number of its own that are new.
      const counts: number[] = [];
      for (const rows of items) counts.push(await insertPayloads(tx, rows));
      return counts;
    },
    (rows) => ({ weight: rows.length }),
  );
  return (teamId, events) => {
    const orders = events.map(({ event_id: eventId, type, created_at: at }) => ({ eventId, type, at }));
    return loadPayloads(world, teamId, orders, write);
  };
}
