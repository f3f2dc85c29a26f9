import { systemClock } from '../../platform/clock/index.ts';
import { findingOf } from '../../resources/findings/index.ts';
import { tryCommit } from '../../resources/instance/index.ts';
import type { DatabaseWatch, Watched } from './database-watch.ts';

const RETRY_MS = 1000;

/**
 * A node whose last commit failed can accept nothing: it is not ready until one succeeds. A load balancer sends it nothing
 * meanwhile that could, so it tries a commit of its own, one after the other. How long a commit takes is no matter.
 */
export function watchCommits({ db, clock, log }: Watched): DatabaseWatch {
  let failing: { error: unknown; since: number } | undefined;
  let isStopped = false;
  let cancel = (): void => undefined;

  async function retry(): Promise<void> {
    try {
      await tryCommit({ db, clock });
    } catch (error) {
      if (failing) failing.error = error;
      if (!isStopped) cancel = systemClock.timer(RETRY_MS, () => void retry());
      return;
    }
    failing = undefined;
    if (!isStopped) log.warn('commits to the database succeed again');
  }

  const stopNotices = db.onFault(({ kind, error }) => {
    if (kind !== 'commit' || failing || isStopped) return;
    failing = { error, since: clock.now() };
    log.error({ err: error }, 'a commit to the database failed: this node is not ready until one succeeds');
    cancel = systemClock.timer(0, () => void retry());
  });

  const findings: DatabaseWatch['findings'] = () => {
    if (!failing) return [];
    const { code } = (failing.error ?? {}) as { code?: unknown };
    const summary = `What is accepted cannot be written to the database (${String(code ?? 'unknown')}).`;
    return [findingOf('database_failing', { summary, since: failing.since })];
  };

  return {
    gone: new Promise(() => undefined),
    findings,
    check: () =>
      failing ? Promise.reject(new Error('the last commit failed', { cause: failing.error })) : Promise.resolve(),
    async stop() {
      isStopped = true;
      stopNotices();
      cancel();
    },
  };
}
