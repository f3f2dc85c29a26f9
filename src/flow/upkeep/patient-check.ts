import type { Clock } from '../../platform/clock/index.ts';

/** A caller of a probe waits no longer for its answer. */
const ANSWER_MS_MAX = 2000;
/** Something that has not answered by then hangs. */
const HANGS_MS = 30_000;

/**
 * Makes a check that answers in time, whatever it asks about: while that is slow, what it said last holds, because a busy
 * disk is not a broken one; what has not answered within half a minute fails. Callers that come together share one.
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
