import { systemClock } from '../../../platform/clock/index.ts';
import { findingOf } from '../findings/index.ts';
import { tryCommit } from '../../../tenancy/instance/index.ts';
import type { DatabaseWatch, Watched } from './database-watch.ts';

const RETRY_MS = 1000;
/** Longest time that a caller of `check` waits for a commit that is in progress. */
const ANSWER_MS_MAX = 2000;

/**
 * Watches the commits. A node whose last commit failed can accept nothing, so it is not ready until one succeeds. A
 * load balancer meanwhile sends it no requests that could commit, so it tries commits of its own, the first one at
 * once, because a connection that was lost in a transaction says nothing about the next one. The duration of a commit
 * is ignored.
 */
export function watchCommits({ db, clock, log }: Watched): DatabaseWatch {
  let failing: { error: unknown; since: number } | undefined;
  /** Resolves once it is known whether the commit after the failed one succeeds. */
  let trying: Promise<void> | undefined;
  let isStopped = false;
  let cancel = (): void => undefined;

  async function attempt(): Promise<void> {
    const error = await tryCommit({ db, clock }).then(
      () => undefined,
      (fault: unknown) => fault ?? new Error('a commit failed without a reason'),
    );
    if (error === undefined) {
      if (failing) log.warn('commits to the database succeed again');
      failing = undefined;
      return;
    }
    if (!failing) log.error({ err: error }, 'commits to the database fail: this node is not ready until one succeeds');
    failing = { error, since: failing?.since ?? clock.now() };
    if (!isStopped) cancel = systemClock.timer(RETRY_MS, () => void attempt());
  }

  const stopNotices = db.onFault(({ kind }) => {
    if (kind !== 'commit' || failing || trying || isStopped) return;
    trying = attempt().finally(() => (trying = undefined));
  });

  const findings: DatabaseWatch['findings'] = () => {
    if (!failing) return [];
    const { code } = failing.error as { code?: unknown };
    const summary = `What is accepted cannot be written to the database (${String(code ?? 'unknown')}).`;
    return [findingOf('database_failing', { summary, since: failing.since })];
  };

  /** Resolves with whether the commit in progress ended in time. */
  const hasEnded = (attempted: Promise<void>): Promise<boolean> =>
    new Promise((resolve) => {
      const cancelWait = systemClock.timer(ANSWER_MS_MAX, () => resolve(false));
      void attempted.then(() => resolve(true)).finally(cancelWait);
    });

  return {
    gone: new Promise(() => undefined),
    findings,
    async check() {
      if (trying && !(await hasEnded(trying))) throw new Error('a commit failed, and the next one does not end');
      if (failing) throw new Error('the last commit failed', { cause: failing.error });
    },
    async stop() {
      isStopped = true;
      stopNotices();
      cancel();
    },
  };
}
