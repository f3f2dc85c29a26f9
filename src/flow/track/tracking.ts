import { stopwatch } from '../../platform/clock/index.ts';
import { isDatabaseSetback, isUniqueViolation } from '../../platform/db/index.ts';
import type { World } from '../../platform/world/index.ts';
import type { Reading } from './reading.ts';
import { createRecordReadings } from './record-readings.ts';
import { createRepeats } from './repeats.ts';
import { leftReadings, openTrackJournal, type Noted } from './track-journal.ts';

export interface Tracking {
  /** Notes it so that a killed process does not lose it, and records it later; it never throws. */
  note(reading: Omit<Reading, 'id' | 'at'>): void;
  /** Resolves when nothing more can be recorded at present. */
  settled(): Promise<void>;
  close(graceMs: number): Promise<void>;
}

/** What is fetched twice within this time was opened once. */
const REPEAT_MS = 1000;
const BATCH_MAX = 1024;
/**
 * What is noted is safe, so nobody waits for it. While readers keep coming, the next batch waits for so many times as long
 * as the last one took: they wait while SQLite writes, and a rush is recorded when it is over. In a quiet minute nothing waits.
 */
const PAUSE_MS = 50;
const PAUSE_MS_MAX = 2000;
const PAUSE_FACTOR = 8;
/** What waits takes memory: from here on it is recorded without a pause. */
const WAITING_MAX = 50_000;
/** A database that is down is asked again after this long. */
const RETRY_MS = 1000;
const USER_AGENT_CHARS_MAX = 512;

/** Takes over what earlier processes of this data folder noted and did not record. */
export function createTracking(world: World, runDir: string): Tracking {
  const record = createRecordReadings(world);
  const isRepeat = createRepeats(() => world.clock.now(), REPEAT_MS);
  // An embedded database has no other process.
  const waiting = leftReadings(runDir, { isAlone: world.db.dialect === 'sqlite' });
  const left = [...new Set(waiting.map(({ segment }) => segment))];
  const journal = openTrackJournal(runDir, world.ids.uuid(), world.config.tracking.journal_bytes, left);
  let recording: Promise<void> | undefined;
  let cancelRetry: (() => void) | undefined;
  let cancelPause: (() => void) | undefined;
  let batchMax = BATCH_MAX;
  let isStopped = false;
  let isLosing = false;
  let arrivals = 0;
  if (waiting.length > 0) world.log.info({ readings: waiting.length }, 'recording what an earlier process noted');
  start();

  return {
    note({ emailId, ipAddress, userAgent: wholeUserAgent, link }) {
      const userAgent = wholeUserAgent.slice(0, USER_AGENT_CHARS_MAX);
      if (isStopped || isRepeat(`${emailId} ${ipAddress} ${userAgent} ${link ?? ''}`)) return;
      const reading = { id: world.ids.uuid(), at: world.clock.now(), emailId, ipAddress, userAgent };
      const noted = write(link === undefined ? reading : { ...reading, link });
      if (!noted) return;
      waiting.push(noted);
      arrivals++;
      start();
    },
    settled: recordNow,
    async close(graceMs) {
      if (graceMs === 0) isStopped = true;
      const cancel = world.clock.timer(graceMs, () => (isStopped = true));
      await recordNow();
      isStopped = true;
      cancel();
      cancelRetry?.();
      journal.close();
    },
  };

  function write(reading: Reading): Noted | undefined {
    let fault: unknown;
    try {
      const noted = journal.append(reading);
      if (noted) isLosing = false;
      if (noted) return noted;
    } catch (error) {
      fault = error;
    }
    if (!isLosing) world.log.error({ err: fault }, 'opens and clicks are not recorded: the journal is full');
    isLosing = true;
    return undefined;
  }

  function start(): void {
    if (isStopped || waiting.length === 0 || cancelRetry || cancelPause) return;
    if (recording) return;
    const elapsedMs = stopwatch();
    const isRush = arrivals > 1 && waiting.length < WAITING_MAX;
    arrivals = 0;
    recording = recordBatch()
      .catch((error: unknown) => world.log.error({ err: error }, 'the journal of opens and clicks could not be kept'))
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
    const batch = waiting.slice(0, batchMax);
    try {
      await record(batch.map(({ reading }) => reading));
      batchMax = BATCH_MAX;
    } catch (error) {
      if (!isPoison(error)) return retryLater(error);
      // Some reading cannot be written: smaller and smaller batches find out which.
      batchMax = Math.max(1, batch.length >> 1);
      if (batch.length > 1) return;
      world.log.error({ err: error, emailId: batch[0]?.reading.emailId }, 'a reading could not be recorded');
    }
    waiting.splice(0, batch.length);
    journal.settle(batch);
  }

  function retryLater(error: unknown): void {
    world.log.warn({ err: error, waiting: waiting.length }, 'opens and clicks wait for the database');
    cancelRetry = world.clock.timer(RETRY_MS, () => {
      cancelRetry = undefined;
      start();
    });
  }
}

/** Another process that took over the same file was faster: the next look finds what it wrote. */
const isPoison = (error: unknown): boolean => !isDatabaseSetback(error) && !isUniqueViolation(error);
