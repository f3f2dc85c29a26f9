import type { SlotPool } from '../../platform/fair-share/index.ts';
import type { World } from '../../platform/world/index.ts';
import { parkWhatIsDue, type Attempt } from '../../resources/webhooks/index.ts';
import { makeAttempt, type Outcome } from './attempt.ts';
import type { WriteAttempt } from './attempt-writer.ts';
import { FAILING_MS_MAX, type DisableFailing } from './disable-failing.ts';
import { dueEvents, ownedEndpoint, type DueEvent, type EndpointRow } from './endpoints.store.ts';
import { UnusableEndpoint, type OpenEndpoint } from './open-endpoint.ts';
import type { Payloads } from './payloads.ts';
import { nextTryAt } from './retry-schedule.ts';
import { createSendWindow } from './send-window.ts';

/** What all senders of a process have in common. */
export interface SenderParts {
  world: World;
  /** The name under which this process leases endpoints. */
  owner: string;
  slots: SlotPool;
  open(row: EndpointRow): OpenEndpoint;
  payloads: Payloads;
  write: WriteAttempt;
  disableFailing: DisableFailing;
}

/** Events read at once: what a slow endpoint needs in a while, and enough for a quick one to be worth a commit. */
const READ_MAX = 64;
/** An endpoint with more than these waiting is behind. */
const BEHIND = 16;
/** What another process does to an endpoint or its events is known after this long. */
const FRESH_MS = 1000;
/** Attempts that are over and not written yet: what is not written when the process dies is made again. */
const UNWRITTEN_MAX = 512;
/** What is being written when we stop has this long to end: a statement that waits for a lock keeps nobody from stopping. */
const GIVE_UP_MS = 1000;

type Ready = DueEvent & { payload: string };

/**
 * Sends what is due to one endpoint that this process has leased: it reads some, makes as many attempts at once as the
 * window and the fair share allow, and reads again until nothing is left. It waits for no other endpoint. What it has not
 * sent stays due in the database.
 */
export class EndpointSender {
  readonly id: string;
  /** Until then nobody else sends to it. */
  leasedUntil: number;
  readonly #parts: SenderParts;
  readonly #window;
  /** Sent and not written yet, by event: the database still offers them. */
  readonly #sent = new Set<string>();
  #inFlight = 0;
  #isWoken = false;
  #hasEnded = false;
  /** The endpoint or its team may have changed since they were read. */
  #isStale = false;
  #readAt = -Infinity;
  /** Of ours, in the middle of sending. */
  #fault: UnusableEndpoint | undefined;
  #change: (() => void) | undefined;

  constructor(id: string, leasedUntil: number, parts: SenderParts) {
    this.id = id;
    this.leasedUntil = leasedUntil;
    this.#parts = parts;
    this.#window = createSendWindow(parts.world.config.webhooks.max_in_flight_per_endpoint);
  }

  /** There may be more that is due. Answers whether it will see to that. */
  wake(): boolean {
    this.#isWoken = true;
    this.#changed();
    return !this.#hasEnded;
  }

  /** The endpoint is read again before anything more is sent. */
  reread(): void {
    this.#isStale = true;
  }

  /** Sends what is due, and ends when nothing is or `isStopping` says so, and all that was sent is written. */
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

  /** Sends what is read at once; answers whether there may be more. */
  async #sendSome(goesOn: () => boolean, signal: AbortSignal): Promise<boolean> {
    const due = await this.#read();
    if (!due) return false;
    const { endpoint, events, isMore } = due;
    for (const [i, event] of events.entries()) {
      await this.#turn(endpoint.row.team_id);
      if (!goesOn() || this.#isStale || this.#now() - this.#readAt >= FRESH_MS) {
        this.#leave();
        return true;
      }
      void this.#send(endpoint, { ...event, isBehind: isMore || events.length - i > BEHIND }, signal);
    }
    return isMore;
  }

  /** Reads the endpoint and what is due to it; the bodies stand in the database before the first of them is sent. */
  async #read(): Promise<{ endpoint: OpenEndpoint; events: Ready[]; isMore: boolean } | undefined> {
    const { world, owner, open, payloads } = this.#parts;
    this.#isStale = false;
    const row = await ownedEndpoint(world.db, this.id, owner);
    if (row?.status === 'disabled') await parkWhatIsDue(world, this.id);
    if (row?.status !== 'enabled' || row.risk_state === 'suspended') return undefined;
    const endpoint = open(row);
    // An answer that is on its way may still offer what is written meanwhile.
    const sent = new Set(this.#sent);
    const limit = READ_MAX + sent.size;
    const due = await dueEvents(world.db, this.id, { now: this.#now(), limit });
    const fresh = due.filter((event) => !sent.has(event.event_id));
    const bodies = await payloads(row.team_id, fresh);
    const events = fresh.map((event) => ({ ...event, payload: bodies.get(event.event_id) ?? '' }));
    // When it is over: a database that takes a second to answer would otherwise be asked for ever.
    this.#readAt = this.#now();
    return { endpoint, events, isMore: due.length === limit };
  }

  /** Resolves when one more attempt may be made; whoever does not make it leaves. */
  async #turn(teamId: string): Promise<void> {
    const { slots } = this.#parts;
    for (;;) {
      while (!this.#hasFreeSlot()) await this.#untilChange();
      await slots.acquire(teamId, this.id);
      this.#inFlight++;
      // A failure may have made the window smaller meanwhile.
      if (this.#inFlight <= this.#window.size) return;
      this.#leave();
    }
  }

  #leave(): void {
    this.#inFlight--;
    this.#parts.slots.release(this.id);
    this.#changed();
  }

  #hasFreeSlot(): boolean {
    return this.#inFlight < this.#window.size && this.#sent.size - this.#inFlight < UNWRITTEN_MAX;
  }

  /** Makes one attempt and writes it down; what is sent next waits for the attempt alone. Never rejects. */
  async #send(endpoint: OpenEndpoint, event: Ready & { isBehind: boolean }, signal: AbortSignal): Promise<void> {
    const { world, write, disableFailing } = this.#parts;
    this.#sent.add(event.event_id);
    try {
      const { event_id: id, payload } = event;
      const outcome = await makeAttempt(world, endpoint, { id, payload }, signal).finally(() => this.#leave());
      // It ends as if it had not been made.
      if (signal.aborted && outcome.status === null) return;
      // An answer without end costs a connection each time: such an endpoint is asked one thing at a time.
      if (outcome.isSuccess && !outcome.isCut) this.#window.succeeded(outcome.durationMs, event.isBehind);
      else this.#window.failed();
      const isWritten = await write(attemptOf(world, this.id, event, outcome), signal);
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

function attemptOf(world: World, webhookId: string, event: DueEvent, outcome: Outcome): Attempt {
  const nextAt = outcome.isSuccess ? undefined : nextTryAt(event.tries + 1, world.clock.now(), world.random);
  return {
    ...outcome,
    id: world.ids.prefixed('atmpt_'),
    webhookId,
    eventId: event.event_id,
    taken: { dueAt: event.due_at, tries: event.tries, attempts: event.attempt_count },
    nextAt: nextAt ?? null,
  };
}
