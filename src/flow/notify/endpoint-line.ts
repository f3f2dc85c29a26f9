import type { World } from '../../platform/world/index.ts';
import { parkWhatIsDue } from '../../resources/webhooks/index.ts';
import { attempt, type Interrupt, type Outcome } from './attempt.ts';
import type { Attempt } from './attempts.store.ts';
import { dueEvents, heldEndpoint, type DueEvent, type EndpointRow } from './notify.store.ts';
import { openEndpoint, type OpenEndpoint } from './open-endpoint.ts';
import { nextTryAt } from './retry-schedule.ts';
import type { Room } from './room.ts';
import type { Settled } from './settle.ts';
import { createWindow } from './window.ts';

export interface LineParts {
  world: World;
  id: string;
  owner: string;
  windowMax: number;
  /** Places beyond the one that every endpoint has to itself. */
  room: Room;
  payloads(teamId: string, events: readonly DueEvent[]): Promise<Map<string, string>>;
  settle(settled: Settled): void;
  /** An attempt failed, and the endpoint has never succeeded since this time. Never rejects. */
  onFailure(failingSince: number): Promise<void>;
  /** It cannot be sent to, for a reason of ours: whatever is due stays so, and the line is to be stopped. */
  onDefect(error: unknown): void;
  /** Whether the endpoint is ours to send to at this moment. */
  isHeld(): boolean;
  /** It was deleted, or is another process's now. */
  onLost(): void;
  onQuiet(): void;
  interrupt: Interrupt;
}

/** What is sent to one endpoint. It reads ahead a little, keeps its window full, and waits for no other endpoint. */
export interface EndpointLine {
  /** There may be something due. */
  wake(): void;
  /** The endpoint or its team may have changed: it is read again before anything more is sent. */
  changed(): void;
  /** Starts nothing more, and resolves when nothing is under way. */
  stop(): Promise<void>;
  /** Nothing is under way. */
  isQuiet(): boolean;
  inFlight(): number;
}

/** Events read ahead: what a slow endpoint needs in a while, and enough for a quick one to be worth a commit. */
const READ_AHEAD_MIN = 32;
const READ_AHEAD_ROUNDS = 8;
const READS_IN_A_ROW = 20;
/** Characters of bodies that are read ahead, and events whatever their size. */
const READ_AHEAD_CHARS_MAX = 2 * 1024 * 1024;
const READ_AHEAD_LEAST = 8;
/** What another process does to an endpoint or its events is known after this long. */
const FRESH_MS = 1000;
/** Attempts that are over and not written yet: what is not written when the process dies is sent again. */
const UNWRITTEN_MAX = 512;
/** The last success is written down again when it has become this old. */
const SUCCESS_STALE_MS = 60_000;

type Waiting = DueEvent & { payload: string };

export function createEndpointLine(parts: LineParts): EndpointLine {
  const { world, id, owner, room, windowMax } = parts;
  const window = createWindow(windowMax);
  let waiting: Waiting[] = [];
  /** Waiting, under way or not written yet: the database offers them still, and they are not taken twice. */
  const taken = new Set<string>();
  /** Written since the database was asked last: an answer that is on its way may still offer them. */
  let endedMeanwhile = new Set<string>();
  /** How far the walk over what is due has come; undefined where it begins. */
  let position: DueEvent | undefined;
  let readsInARow = 0;
  let endpoint: OpenEndpoint | undefined;
  /** The endpoint is as it stands in the database, as far as we know. */
  let isReady = false;
  let isStale = true;
  let readAt = -Infinity;
  /** Of the bodies read last. */
  let meanChars = 1;
  /** The database did not answer; whoever wakes us next asks it again. */
  let isBroken = false;
  let state: 'running' | 'stopped' = 'running';
  /** The attempt before failed: its row may say so only when it has been read again. */
  let mayBeFailing = false;
  let mayHaveMore = false;
  let isReading = false;
  let inFlight = 0;
  let isOwnPlaceFree = true;
  const whenQuiet: (() => void)[] = [];

  const readAheadMax = (): number => {
    const wanted = Math.max(READ_AHEAD_MIN, window.size * READ_AHEAD_ROUNDS);
    return Math.max(READ_AHEAD_LEAST, Math.min(wanted, Math.floor(READ_AHEAD_CHARS_MAX / meanChars)));
  };
  const wantsToRead = (): boolean =>
    !isBroken && ((isStale && waiting.length > 0) || (mayHaveMore && waiting.length < readAheadMax() / 2));

  function pump(): void {
    if (state === 'running') {
      if (world.clock.now() - readAt >= FRESH_MS) isStale = true;
      if (wantsToRead() && !isReading) void read();
      while (isReady && !isStale && endpoint && waiting.length > 0 && hasPlace()) start(endpoint);
    }
    if (!isQuiet()) return;
    window.rested();
    for (const tell of whenQuiet.splice(0)) tell();
    parts.onQuiet();
  }

  function hasPlace(): boolean {
    const unwritten = taken.size - waiting.length - inFlight;
    return inFlight < window.size && unwritten < UNWRITTEN_MAX && parts.isHeld() && (isOwnPlaceFree || room.take(pump));
  }

  /** Reads the endpoint and what is due; the bodies stand in the database before the first of them is sent. */
  async function read(): Promise<void> {
    isReading = true;
    try {
      while (state === 'running' && wantsToRead()) {
        if (isStale) lookAgain();
        const isLow = mayHaveMore && waiting.length < readAheadMax() / 2;
        if (isLow) mayHaveMore = false;
        const row = await heldEndpoint(world.db, id, owner);
        if (row?.status !== 'enabled' || row.risk_state === 'suspended') {
          isReady = false;
          mayHaveMore = false;
          letGo();
          if (!row) parts.onLost();
          else if (row.status === 'disabled') await parkWhatIsDue(world, id);
          continue;
        }
        if (!open(row)) return;
        isReady = true;
        if (isLow) await readAhead(row.team_id);
        // When it is over: a database that takes a second to answer would otherwise be asked for ever.
        readAt = world.clock.now();
      }
    } catch (error) {
      isBroken = true;
      isStale = true;
      position = undefined;
      world.log.error({ err: error, webhookId: id }, 'could not read what an endpoint is to be told');
    } finally {
      isReading = false;
      pump();
    }
  }

  /** What was read ahead may have been parked since: it is read again with the endpoint. */
  function lookAgain(): void {
    isStale = false;
    isReady = false;
    if (waiting.length === 0) return;
    letGo();
    mayHaveMore = true;
  }

  /** Also with its keys, before anything is read for it. Answers whether that is possible. */
  function open(row: EndpointRow): boolean {
    try {
      endpoint = openEndpoint(world, row, { before: endpoint, connectionsMax: windowMax });
      endpoint.keys();
      return true;
    } catch (error) {
      holdBack(error);
      return false;
    }
  }

  function holdBack(error: unknown): void {
    isReady = false;
    mayHaveMore = false;
    letGo();
    parts.onDefect(error);
  }

  async function readAhead(teamId: string): Promise<void> {
    const limit = readAheadMax() + (position ? 0 : taken.size);
    endedMeanwhile = new Set();
    const due = await dueEvents(world.db, id, { now: world.clock.now(), after: position, limit });
    const isMore = due.length === limit;
    // What was recorded late stands before the position: now and then the walk begins with the oldest again.
    position = isMore && ++readsInARow % READS_IN_A_ROW !== 0 ? due.at(-1) : undefined;
    const fresh = due.filter(({ event_id: eventId }) => !taken.has(eventId) && !endedMeanwhile.has(eventId));
    mayHaveMore ||= isMore;
    if (fresh.length === 0) return;
    const payloads = await parts.payloads(teamId, fresh);
    // Nobody would send it, or let it go again.
    if (state === 'stopped') return;
    const chars = [...payloads.values()].reduce((sum, text) => sum + text.length, 0);
    meanChars = Math.max(1, chars / Math.max(1, payloads.size));
    for (const event of fresh) {
      const payload = payloads.get(event.event_id);
      if (payload === undefined) continue;
      taken.add(event.event_id);
      waiting.push({ ...event, payload });
    }
  }

  /** Nothing that waits is sent; it stays in the database as it is. */
  function letGo(): void {
    for (const event of waiting) taken.delete(event.event_id);
    waiting = [];
    position = undefined;
  }

  function start(open: OpenEndpoint): void {
    const event = waiting.shift();
    if (!event) return;
    const isOwnPlace = isOwnPlaceFree;
    isOwnPlaceFree = false;
    inFlight++;
    const leave = (): void => {
      inFlight--;
      if (isOwnPlace) isOwnPlaceFree = true;
      else room.leave();
    };
    const fail = (error: unknown): void => {
      holdBack(error);
      ended(event.event_id);
    };
    const answered = (outcome: Outcome | undefined): void => {
      leave();
      try {
        if (outcome) conclude(open, event, outcome);
        else ended(event.event_id);
      } catch (error) {
        fail(error);
      }
      // What comes next does not wait until this is written.
      pump();
    };
    try {
      const { line, path } = open;
      const what = { eventId: event.event_id, payload: event.payload };
      attempt(world, { line, path, keys: open.keys(), ...what, interrupt: parts.interrupt }, answered);
    } catch (error) {
      leave();
      fail(error);
    }
  }

  function conclude(open: OpenEndpoint, event: Waiting, outcome: Outcome): void {
    if (outcome.isSuccess) window.succeeded(outcome.durationMs, mayHaveMore || waiting.length > READ_AHEAD_MIN / 2);
    else window.failed();
    const isOver = outcome.isSuccess && mayBeFailing;
    mayBeFailing = !outcome.isSuccess;
    parts.settle({ attempt: attemptOf(parts, event, outcome), isNews: isNews(open, outcome) || isOver, over });
  }

  function over({ attempt: { isSuccess, eventId, sentAt } }: Settled, isWritten: boolean): void {
    if (isSuccess || !isWritten) return ended(eventId);
    void parts.onFailure(endpoint?.row.failing_since ?? sentAt).then(() => ended(eventId));
  }

  function ended(eventId: string): void {
    taken.delete(eventId);
    endedMeanwhile.add(eventId);
    pump();
  }

  const isQuiet = (): boolean => !isReading && taken.size === 0 && !(state === 'running' && wantsToRead());

  return {
    wake() {
      mayHaveMore = true;
      isBroken = false;
      pump();
    },
    changed() {
      isStale = true;
      pump();
    },
    async stop() {
      state = 'stopped';
      letGo();
      if (!isQuiet()) await new Promise<void>((resolve) => whenQuiet.push(resolve));
      await endpoint?.line.cut();
    },
    isQuiet,
    inFlight: () => inFlight,
  };
}

function attemptOf({ world, id }: LineParts, event: DueEvent, outcome: Outcome): Attempt {
  const nextAt = outcome.isSuccess ? undefined : nextTryAt(event.tries + 1, world.clock.now(), world.random);
  return {
    ...outcome,
    id: world.ids.prefixed('atmpt_'),
    webhookId: id,
    eventId: event.event_id,
    taken: { dueAt: event.due_at, tries: event.tries, attempts: event.attempt_count },
    nextAt: nextAt ?? null,
  };
}

/** Most attempts tell an endpoint's row nothing that it does not say already. */
function isNews({ row }: OpenEndpoint, { isSuccess, sentAt }: Outcome): boolean {
  if (isSuccess) {
    if (row.failing_since === null && sentAt - (row.last_success_at ?? -Infinity) < SUCCESS_STALE_MS) return false;
    row.failing_since = null;
    row.last_success_at = sentAt;
    return true;
  }
  if (row.failing_since !== null) return false;
  row.failing_since = sentAt;
  return true;
}
