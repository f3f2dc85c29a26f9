import { nextTurn, stopwatch } from '../clock/index.ts';
import { isLocked } from './faults.ts';

/** As long as an operator's command or a backup takes with the file, and no longer than a caller should wait. */
const WAIT_MS_MAX = 5000;
const FIRST_PAUSE_MS = 2;
const PAUSE_MS_MAX = 100;

/**
 * Tries until another process has let go of the file, without holding up this one between the tries. The time counts from
 * when the lock was first met: when it has run out, the next caller in line tries once and is refused too, until the file
 * is free again.
 */
export function createLockWait(): <T>(attempt: () => T | Promise<T>) => Promise<T> {
  let lockedForMs: (() => number) | undefined;
  return async (attempt) => {
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, PAUSE_MS_MAX)) {
      try {
        const value = await attempt();
        lockedForMs = undefined;
        return value;
      } catch (error) {
        if (!isLocked(error)) throw error;
        lockedForMs ??= stopwatch();
        // Those in line would otherwise follow one another without a turn for anybody else.
        if (lockedForMs() >= WAIT_MS_MAX) {
          await nextTurn();
          throw error;
        }
        await pause(pauseMs);
      }
    }
  };
}

/** Keeps the process up, for a command of the operator waits for nothing else. */
const pause = (ms: number): Promise<void> => new Promise((resume) => void setTimeout(resume, ms));
