import type { Clock } from '../../../platform/clock.ts';

/** Longest time that a caller of a probe waits for its result. */
const ANSWER_MS_MAX = 2000;
/** A check that takes longer than this hangs. */
const HANGS_MS = 30_000;

/**
 * Makes a check that returns in time, however slow `check` is. While a run is slow, the last result is returned,
 * because a busy disk is not a broken one; after half a minute without a result the check fails. Concurrent callers
 * share one run.
 */
export function createPatientCheck(clock: Clock, check: () => Promise<void>): () => Promise<void> {
  let running: { ended: Promise<void>; hangs: boolean } | undefined;
  let last: { fault: unknown } | undefined;

  function start() {
    const started = { ended: Promise.resolve(), hangs: false };
    const cancel = clock.timer(HANGS_MS, () => void (started.hangs = true));
    started.ended = check()
      .then(
        () => void (last = undefined),
        (fault: unknown) => {
          last = { fault };
          throw fault;
        },
      )
      .finally(() => {
        cancel();
        running = undefined;
      });
    return started;
  }

  return () => {
    const asked = (running ??= start());
    return new Promise<void>((resolve, reject) => {
      const late = (): void => {
        if (asked.hangs) return reject(new Error(`no answer within ${HANGS_MS} ms`));
        if (last) return reject(last.fault);
        resolve();
      };
      const cancel = clock.timer(ANSWER_MS_MAX, late);
      asked.ended.then(resolve, reject).finally(cancel);
    });
  };
}
