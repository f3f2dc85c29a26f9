import { stopwatch } from '../../platform/clock.ts';
import { isDatabaseSetback, isUniqueViolation } from '../../platform/db/index.ts';
import type { ProcessMarks } from '../../platform/process-mark/index.ts';
import type { World } from '../../platform/world.ts';
import type { Engagement } from './engagement.ts';
import { createClickClassifier, createRecordEngagements } from './record-engagements.ts';
import { openTrackJournal, type TrackJournal } from './track-journal.ts';

const KEYS_MAX = 50_000;

/**
 * Returns a function that reports whether something was fetched before within the window: browsers and proxies fetch
 * twice what a person opened once. Two maps alternate, so that old entries are dropped at no cost. Keys are numbers
 * made of the parts, because the texts of a rush would cost more in garbage collection than the responses. Two
 * different engagements of one second share 53 bits with negligible probability.
 */
export function createRepeats(now: () => number, windowMs: number): (...parts: string[]) => boolean {
  let current = new Map<number, number>();
  let before = new Map<number, number>();
  let turnedAt = now();
  return (...parts) => {
    const key = hashParts(parts);
    const at = now();
    if (at - turnedAt >= windowMs || current.size >= KEYS_MAX) {
      before = current;
      current = new Map();
      turnedAt = at;
    }
    const first = current.get(key) ?? before.get(key);
    if (first !== undefined && at - first < windowMs) return true;
    current.set(key, at);
    return false;
  };
}

/**
 * Combines two 32-bit hashes over UTF-16 units into one number of 53 bits: `high` is FNV-1a with units instead of
 * bytes, `low` takes the same steps with another offset and another odd factor.
 * They prevent accidental collisions, not intended ones: a recipient who makes two texts collide hides one engagement
 * of the same second.
 */
function hashParts(parts: readonly string[]): number {
  let high = 0x811c9dc5;
  let low = 0x01000193;
  for (const part of parts) {
    for (let i = 0; i < part.length; i++) {
      const unit = part.charCodeAt(i);
      high = Math.imul(high ^ unit, 0x01000193);
      low = Math.imul(low ^ unit, 0x85ebca6b);
    }
    // Marks the boundary between two parts.
    high = Math.imul(high ^ 0x10000, 0x01000193);
    low = Math.imul(low ^ 0x10000, 0x85ebca6b);
  }
  return (high >>> 11) * 0x1_0000_0000 + (low >>> 0);
}

export interface Tracking {
  /**
   * Writes an engagement to the journal so that a killed process does not lose it, calls `onNoted`, and records it
   * later; never throws. Readers in the same turn of the event loop share one write.
   */
  note(engagement: Omit<Engagement, 'id' | 'at'>, onNoted: () => void): void;
  /** Resolves when nothing more can be recorded for now. */
  settled(): Promise<void>;
  close(graceMs: number): Promise<void>;
}

/** Time within which two fetches count as one opening. */
const REPEAT_MS = 1000;
const BATCH_MAX = 512;
/**
 * Pause between batches. Noted engagements are safe, so no caller waits for them. While readers keep coming, the next
 * batch waits for a multiple of the time that the last one took: readers wait while SQLite writes, so a rush is
 * recorded when it is over. In a quiet minute nothing waits.
 */
const PAUSE_MS = 50;
const PAUSE_MS_MAX = 2000;
const PAUSE_FACTOR = 20;
/** Delay before a database that is down is tried again. */
const RETRY_MS = 1000;
const USER_AGENT_CHARS_MAX = 512;

/** Starts tracking and takes over what earlier processes of this data folder noted and did not record. */
export function createTracking(world: World, runDir: string, marks?: ProcessMarks): Tracking {
  const record = createRecordEngagements(world);
  const isRepeat = createRepeats(() => world.clock.now(), REPEAT_MS);
  const { journal_bytes: bytesMax } = world.config.tracking;
  // An embedded database has only this process.
  const isAlone = world.db.dialect === 'sqlite';
  const journal = openTrackJournal({ runDir, owner: world.ids.uuid(), bytesMax, isAlone, marks });
  const write = createWrite(world, journal);
  let unwritten: { engagement?: Engagement; onNoted: () => void }[] = [];
  let recording: Promise<void> | undefined;
  let cancelRetry: (() => void) | undefined;
  let cancelPause: (() => void) | undefined;
  let batchMax = BATCH_MAX;
  let isStopped = false;
  let arrivals = 0;
  /** Time at which the last recorded engagement was noted. */
  let recordedAt = 0;
  const judge = createClickClassifier(world, () => (journal.waitingBytes() === 0 ? Infinity : recordedAt));
  if (journal.waitingBytes() > 0) {
    world.log.info(
      { bytes: journal.waitingBytes() },
      'recording opens and clicks from the journal of an earlier process',
    );
  }
  start();
  judge.start();

  return {
    note({ emailId, ipAddress, userAgent: wholeUserAgent, link, machine }, onNoted) {
      const userAgent = wholeUserAgent.slice(0, USER_AGENT_CHARS_MAX);
      if (isStopped) return onNoted();
      if (isRepeat(emailId, ipAddress, userAgent, link ?? '', machine ? 'machine' : '')) {
        // The first fetch may still be waiting for its write.
        if (unwritten.length === 0) onNoted();
        else unwritten.push({ onNoted });
        return;
      }
      const known = { id: world.ids.uuid(), at: world.clock.now(), emailId, ipAddress, userAgent };
      if (unwritten.length === 0) setImmediate(writeTurn);
      unwritten.push({
        engagement: { ...known, ...(link !== undefined && { link }), ...(machine && { machine }) },
        onNoted,
      });
    },
    async settled() {
      writeTurn();
      await recordNow();
      await judge.idle();
    },
    async close(graceMs) {
      writeTurn();
      if (graceMs === 0) isStopped = true;
      const cancel = world.clock.timer(graceMs, () => (isStopped = true));
      await recordNow();
      isStopped = true;
      cancel();
      cancelRetry?.();
      await judge.stop(graceMs);
      journal.close();
    },
  };

  /**
   * Writes all engagements of a turn at once, then responds to their readers one after the other: waking a writer for
   * each costs more than the response.
   */
  function writeTurn(): void {
    const turn = unwritten;
    unwritten = [];
    if (turn.length === 0) return;
    const isWritten = write(turn.flatMap(({ engagement }) => engagement ?? []));
    for (const { onNoted } of turn) onNoted();
    if (!isWritten) return;
    arrivals += turn.length;
    start();
  }

  function start(): void {
    if (isStopped || recording || cancelRetry || cancelPause || journal.waitingBytes() === 0) return;
    const elapsedMs = stopwatch();
    const isRush = arrivals > 1 && journal.waitingBytes() < bytesMax / 2;
    arrivals = 0;
    recording = recordBatch()
      .catch((error: unknown) =>
        world.log.error({ err: error }, 'the journal of opens and clicks could not be written'),
      )
      .finally(() => {
        recording = undefined;
        const pauseMs = isRush ? Math.min(PAUSE_MS_MAX, Math.max(PAUSE_MS, elapsedMs() * PAUSE_FACTOR)) : 1;
        cancelPause = world.clock.timer(pauseMs, endPause);
      });
  }

  function endPause(): void {
    cancelPause = undefined;
    start();
  }

  async function recordNow(): Promise<void> {
    while (cancelPause || recording) {
      await recording;
      cancelPause?.();
      endPause();
    }
  }

  async function recordBatch(): Promise<void> {
    const taken = journal.take(batchMax);
    if (!taken) return;
    const { engagements } = taken;
    try {
      await record(engagements);
      batchMax = BATCH_MAX;
    } catch (error) {
      if (!isPoison(error)) return retryLater(error);
      // Some engagement cannot be written: smaller and smaller batches find it.
      batchMax = Math.max(1, engagements.length >> 1);
      if (engagements.length > 1) return;
      world.log.error({ err: error, emailId: engagements[0]?.emailId }, 'an open or click could not be recorded');
    }
    journal.settle(taken);
    recordedAt = engagements.at(-1)?.at ?? recordedAt;
    judge.wake();
  }

  function retryLater(error: unknown): void {
    world.log.warn({ err: error, bytes: journal.waitingBytes() }, 'opens and clicks wait for the database');
    cancelRetry = world.clock.timer(RETRY_MS, () => {
      cancelRetry = undefined;
      start();
    });
  }
}

/** Returns a function that writes to the journal and reports whether it could. */
function createWrite(world: World, journal: TrackJournal): (engagements: Engagement[]) => boolean {
  let losing: string | undefined;
  return (engagements) => {
    try {
      if (!journal.append(engagements)) return lose('the journal is full', { bytes: journal.waitingBytes() });
      losing = undefined;
      return true;
    } catch (error) {
      return lose('the journal cannot be written', { err: error });
    }
  };

  /** Logs each cause only once: further readers would fill the log. */
  function lose(cause: string, details: object): false {
    if (losing !== cause) world.log.error(details, `opens and clicks are not recorded: ${cause}`);
    losing = cause;
    return false;
  }
}

/**
 * Reports whether an error is caused by an engagement itself. On a unique violation, another process that took over the
 * same file was faster, and the next try finds its rows.
 */
const isPoison = (error: unknown): boolean => !isDatabaseSetback(error) && !isUniqueViolation(error);
