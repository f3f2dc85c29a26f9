/**
 * Runs the jobs of the table in `cron-table.ts` on schedule. A job is one function of mail or of a feature. Once a minute the
 * due jobs are determined from the last run of each in the database: a job runs once for each time among all nodes, and
 * once for all the times that were missed while no node ran, or nodes were suspended or had a wrong clock. A failed job
 * waits for its next time. One process never runs a job twice at the same time; but a job that takes longer than its
 * interval may overlap with the next run on another node, so each verb has to tolerate that.
 */
import type { World } from '../../platform/world.ts';
import { noteJobs, readSlots, takeSlot } from './cron-runs.store.ts';
import { readSchedule } from './schedule.ts';

export interface CronJob {
  name: string;
  /** Five fields, in UTC. */
  schedule: string;
  /** `stopping` aborts when the process is about to end; long jobs stop then. */
  run(stopping?: AbortSignal): Promise<unknown>;
}

export interface Cron {
  /** Resolves when nothing is being decided and no job is running; those that wait for their second of the minute do not count. */
  idle(): Promise<void>;
  stop(): Promise<void>;
}

const SLOT_MS = 60_000;
/** The jobs of a minute start spread over this time, so that no second of it is slow for everyone. */
const SPREAD_MS = 50_000;
/**
 * Tolerated difference between the clocks of two nodes. A run that is recorded further ahead comes from a wrong clock.
 */
const AHEAD_SLOTS_MAX = 5;
/** Upper bound, in minutes, of the search for the latest slot of a job whose last run is not known. */
const UNKNOWN_SLOTS = 366 * 24 * 60;
const SAY_AGAIN_MS = 3_600_000;

export function startCron(world: World, jobs: readonly CronJob[]): Cron {
  const { clock, db, log } = world;
  const planned = jobs.map((job, place) => ({
    job,
    schedule: readSchedule(job.schedule),
    afterMs: Math.floor((place * SPREAD_MS) / jobs.length),
  }));
  /** The minute for which this process last ran a job, by the name of the job. */
  const ran = new Map<string, number>();
  /** Jobs that run, or wait for their second of the minute. */
  const busy = new Set<string>();
  const working = new Set<Promise<void>>();
  const cancels = new Set<() => void>();
  const stopping = new AbortController();
  let saidAt = -Infinity;
  let isDeciding = false;
  let isDueAgain = false;

  function after(delayMs: number, fire: () => void): void {
    const cancel = clock.timer(delayMs, () => {
      cancels.delete(cancel);
      fire();
    });
    cancels.add(cancel);
  }

  function track(work: Promise<void>): void {
    const tracked = work.finally(() => working.delete(tracked));
    working.add(tracked);
  }

  const thisSlot = (): number => Math.floor(clock.now() / SLOT_MS);

  function awaitMinute(): void {
    after(SLOT_MS - (clock.now() % SLOT_MS), () => {
      awaitMinute();
      decideOnce();
    });
  }

  /** A minute that begins during a decision is decided after it: minutes that pass at once cost one more, not one each. */
  function decideOnce(): void {
    if (isDeciding) {
      isDueAgain = true;
      return;
    }
    isDeciding = true;
    const decided = decide().finally(() => {
      isDeciding = false;
      const again = isDueAgain && !stopping.signal.aborted;
      isDueAgain = false;
      if (again) decideOnce();
    });
    track(decided);
  }

  async function decide(): Promise<void> {
    try {
      const slots = await readSlots(db);
      const now = thisSlot();
      const unknown = jobs.filter(({ name }) => !slots.has(name)).map(({ name }) => name);
      // Record a run in the minute before this one, so that a first start runs what is due now.
      if (unknown.length > 0) await noteJobs(db, unknown, now - 1);
      const ahead: string[] = [];
      for (const { job, schedule, afterMs } of planned) {
        const last = slots.get(job.name) ?? now - 1;
        const isAhead = last > now + AHEAD_SLOTS_MAX;
        if (isAhead) ahead.push(job.name);
        const slot = schedule.lastDue({ after: isAhead ? now - UNKNOWN_SLOTS : last, now });
        // While a node with a wrong clock takes the job too, each of the two nodes runs it once per due time.
        if (slot === undefined || busy.has(job.name) || (isAhead && ran.get(job.name) === slot)) continue;
        busy.add(job.name);
        after(afterMs, () => track(runOnce(job, slot).finally(() => busy.delete(job.name))));
      }
      if (ahead.length > 0) logAhead(ahead);
    } catch (error) {
      log.error({ err: error }, 'could not determine which jobs are due; retrying in a minute');
    }
  }

  function logAhead(ahead: string[]): void {
    if (clock.steady() - saidAt < SAY_AGAIN_MS) return;
    saidAt = clock.steady();
    log.warn({ jobs: ahead }, 'the last run of jobs is in the future, from a clock that was ahead; it is ignored');
  }

  async function runOnce(job: CronJob, slot: number): Promise<void> {
    if (stopping.signal.aborted) return;
    try {
      if (!(await takeSlot(db, job.name, { slot, latest: thisSlot() + AHEAD_SLOTS_MAX }))) return;
      ran.set(job.name, slot);
      const began = performance.now();
      const result = await job.run(stopping.signal);
      const ms = Math.round(performance.now() - began);
      log[isNothing(result) ? 'debug' : 'info']({ job: job.name, result, ms }, 'cron job done');
    } catch (error) {
      log.error({ err: error, job: job.name }, 'cron job failed');
    }
  }

  awaitMinute();
  return {
    async idle() {
      while (working.size > 0) await Promise.all(working);
    },
    async stop() {
      stopping.abort();
      for (const cancel of cancels) cancel();
      await Promise.allSettled(working);
      // A decision that was in progress may have set timers meanwhile.
      for (const cancel of cancels) cancel();
      for (const { schedule } of planned) schedule.end();
    },
  };
}

/** Returns whether a result is not worth a line of the log: the job had nothing to do, or reports nothing. */
function isNothing(result: unknown): boolean {
  const counts = typeof result === 'object' && result !== null ? Object.values(result) : [result];
  return counts.every((count) => count === 0 || count === undefined);
}
