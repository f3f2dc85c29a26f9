import { databaseBehind, type Executor } from '../../platform/db/index.ts';
import { refuse } from '../../platform/refusal/index.ts';
import type { World } from '../../platform/world/index.ts';
import type { CapturedRow } from './captured-messages.store.ts';

/** Each is an open request. */
const WAITS_MAX = 1000;

interface Wait {
  fits(row: CapturedRow): boolean;
  end(): void;
}

/** Callers that wait for a message, by database. In memory of this process, which is the only one of its data folder. */
const waitsByDatabase = new WeakMap<Executor, Set<Wait>>();

function findWaits(db: Executor): Set<Wait> {
  const key = databaseBehind(db);
  const known = waitsByDatabase.get(key);
  if (known) return known;
  const waits = new Set<Wait>();
  waitsByDatabase.set(key, waits);
  return waits;
}

export interface CaptureWait {
  /** Resolves once a message that fits was caught, the time is over, the caller is gone or the server stops. */
  over: Promise<void>;
  /** Ends it; to be called in any case. */
  close(): void;
}

/** Begins to wait; messages that were caught before are for the caller to look up afterwards, so that none is missed. */
export function waitForCapture(
  { db, clock }: Pick<World, 'db' | 'clock'>,
  fits: (row: CapturedRow) => boolean,
  { waitMs, gone }: { waitMs: number; gone: AbortSignal | undefined },
): CaptureWait {
  const waits = findWaits(db);
  if (waits.size >= WAITS_MAX) {
    throw refuse('service_unavailable', {
      say: `${WAITS_MAX} requests wait for a message already, which is the limit of this server; try again once some have ended.`,
    });
  }
  const { promise: over, resolve } = Promise.withResolvers<void>();
  const close = (): void => {
    cancel();
    gone?.removeEventListener('abort', close);
    waits.delete(wait);
    resolve();
  };
  const wait: Wait = { fits, end: close };
  const cancel = clock.timer(waitMs, close);
  waits.add(wait);
  gone?.addEventListener('abort', close, { once: true });
  if (gone?.aborted) close();
  return { over, close };
}

/** Ends the waits that a message fits. Called once its row is committed. */
export function announceCaptured(db: Executor, row: CapturedRow): void {
  for (const wait of [...findWaits(db)]) if (wait.fits(row)) wait.end();
}

/** Ends every wait, so that none delays a server that stops. */
export function endCaptureWaits(db: Executor): void {
  for (const wait of [...findWaits(db)]) wait.end();
}

export const countCaptureWaits = (db: Executor): number => findWaits(db).size;
