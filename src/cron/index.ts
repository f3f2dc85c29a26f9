/**
 * Cron: runs the jobs of the table in `app.ts`, each at its time. A job is one verb of flow or resources; it starts once per
 * slot among all nodes, and a failure waits for the next slot. One process never runs a job twice at a time; but a job
 * that outlasts its slot may meet the next run of it on another node, so each verb has to bear that.
 */
import cron from 'node-cron';
import type { World } from '../platform/world/index.ts';
import { takeSlot } from './cron-runs.store.ts';

export interface CronJob {
  name: string;
  /** Five fields, in UTC. */
  schedule: string;
  /** `stopping` is aborted when the process is about to end: what takes its time breaks off then. */
  run(stopping?: AbortSignal): Promise<unknown>;
}

const SLOT_MS = 60_000;

export function startCron(world: World, jobs: readonly CronJob[]): { stop(): Promise<void> } {
  const running = new Set<Promise<void>>();
  const stopping = new AbortController();
  const tasks = jobs.map((job) =>
    cron.schedule(
      job.schedule,
      () => {
        const work = runOnce(world, job, stopping.signal).finally(() => running.delete(work));
        running.add(work);
        return work;
      },
      { name: job.name, timezone: 'UTC', noOverlap: true },
    ),
  );
  return {
    async stop() {
      stopping.abort();
      for (const task of tasks) await task.destroy();
      await Promise.allSettled(running);
    },
  };
}

async function runOnce(world: World, job: CronJob, stopping: AbortSignal): Promise<void> {
  try {
    const slot = Math.floor(world.clock.now() / SLOT_MS);
    if (!(await takeSlot(world.db, job.name, slot))) return;
    const began = performance.now();
    const result = await job.run(stopping);
    const ms = Math.round(performance.now() - began);
    world.log[isNothing(result) ? 'debug' : 'info']({ job: job.name, result, ms }, 'cron job done');
  } catch (error) {
    world.log.error({ err: error, job: job.name }, 'cron job failed');
  }
}

/** That there was nothing to do is no news, every minute of the day. */
function isNothing(result: unknown): boolean {
  const counts = typeof result === 'object' && result !== null ? Object.values(result) : [result];
  return counts.every((count) => count === 0);
}
