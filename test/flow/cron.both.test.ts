// These tests check which jobs run, and when, whatever the clock does.
import { expect, it, vi } from 'vitest';
import { startCron, type Cron, type CronJob } from '../../src/ports/cron/index.ts';
import { readSchedule } from '../../src/ports/cron/schedule.ts';
import { cronTable } from '../../src/cron-table.ts';
import { nextTurn } from '../../src/platform/clock.ts';
import { startScene, type Scene } from '../rig/scene.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const BEGIN = '2030-03-05T12:00:59Z';

interface Stage extends AsyncDisposable {
  scene: Scene;
  /** The clock time of the start of each run. */
  runs: Map<string, string[]>;
  cron: Cron;
  /** Lets this many minutes pass, each with its due jobs. */
  pass(minutes: number): Promise<void>;
  counts(): Record<string, number>;
  warned(text: string): unknown[];
}

const SCHEDULES = { minutely: '* * * * *', hourly: '7 * * * *', daily: '30 3 * * *', weekly: '0 4 * * 1' };

async function setStage(options: { schedules?: Record<string, string>; scene?: Scene } = {}): Promise<Stage> {
  const scene = options.scene ?? (await startScene({ roles: ['http'], startAt: BEGIN }));
  const runs = new Map<string, string[]>();
  const jobs = Object.entries(options.schedules ?? SCHEDULES).map(([name, schedule]): CronJob => {
    runs.set(name, []);
    const run = (): Promise<number> => {
      runs.get(name)?.push(new Date(scene.clock.now()).toISOString());
      return Promise.resolve(0);
    };
    return { name, schedule, run };
  });
  const cron = startCron(scene.app.world, jobs);
  return {
    scene,
    runs,
    cron,
    async pass(minutes) {
      for (let n = 0; n < minutes; n++) {
        // The tick comes at the full minute, its jobs over the remaining seconds.
        scene.clock.advance(1000);
        await cron.idle();
        scene.clock.advance(59_000);
        await cron.idle();
      }
    },
    counts: () => Object.fromEntries([...runs].map(([name, times]) => [name, times.splice(0).length])),
    warned: (text) => scene.log.filter((line) => line.includes(text)),
    async [Symbol.asyncDispose]() {
      await cron.stop();
      if (!options.scene) await scene.close();
    },
  };
}

it('a job runs once in each minute of its schedule, and not for times before it existed', async () => {
  await using stage = await setStage();
  await stage.pass(8);
  expect(stage.counts()).toEqual({ minutely: 8, hourly: 1, daily: 0, weekly: 0 });
  await stage.pass(60);
  expect(stage.counts()).toEqual({ minutely: 60, hourly: 1, daily: 0, weekly: 0 });
});

it('a clock jump of thirty days runs each job once, logs no missed minutes, and does not step through them', async () => {
  await using stage = await setStage();
  await stage.pass(2);
  stage.counts();
  const printed = stage.scene.log.length;
  stage.scene.clock.step(30 * DAY);
  await stage.pass(1);
  expect(stage.counts()).toEqual({ minutely: 1, hourly: 1, daily: 1, weekly: 1 });
  const lines = stage.scene.log.slice(printed).filter((line) => !line.includes('"debug"'));
  expect(lines.map((line) => (JSON.parse(line) as { msg: string }).msg)).toEqual([
    expect.stringContaining('went forward by 30 days'),
  ]);
  await stage.pass(3);
  expect(stage.counts()).toEqual({ minutely: 3, hourly: 0, daily: 0, weekly: 0 });
});

it('minutes that pass while the database is asked are decided together, not one by one', async () => {
  await using stage = await setStage();
  await stage.pass(2);
  stage.counts();
  const { db } = stage.scene.app.world;
  const asked = vi.spyOn(db, 'all');
  try {
    stage.scene.clock.advance(25 * HOUR);
    await stage.cron.idle();
    expect(asked.mock.calls.length).toBeLessThan(10);
  } finally {
    asked.mockRestore();
  }
  stage.scene.clock.advance(MINUTE);
  await stage.cron.idle();
  expect(stage.counts()).toEqual({ minutely: 1, hourly: 1, daily: 1, weekly: 0 });
});

it('setting the clock back after a jump stops no job', async () => {
  await using stage = await setStage();
  await stage.pass(2);
  stage.scene.clock.step(30 * DAY);
  await stage.pass(4);
  stage.counts();
  stage.scene.clock.step(-30 * DAY);
  await stage.pass(1);
  // Their recorded run of a month ahead is ignored: they run once more, and continue.
  expect(stage.counts()).toEqual({ minutely: 1, hourly: 1, daily: 1, weekly: 1 });
  expect(stage.warned('the last run of jobs is in the future')).toHaveLength(1);
  await stage.pass(60);
  expect(stage.counts()).toEqual({ minutely: 60, hourly: 1, daily: 0, weekly: 0 });
  await stage.pass(15 * 60);
  expect(stage.counts()).toMatchObject({ hourly: 15, daily: 1, weekly: 0 });
});

it('a run that an earlier version recorded in the future is ignored after a start', async () => {
  await using scene = await startScene({ roles: ['http'], startAt: BEGIN });
  const slot = Math.floor(scene.clock.now() / MINUTE);
  const rows = Object.keys(SCHEDULES).map((job) => [job, slot + 43_192]);
  await scene.app.world.db.insertMany('cron_runs', ['job', 'slot'], rows);
  await using stage = await setStage({ scene });
  await stage.pass(1);
  expect(stage.counts()).toEqual({ minutely: 1, hourly: 1, daily: 1, weekly: 1 });
  await stage.pass(3);
  expect(stage.counts()).toEqual({ minutely: 3, hourly: 0, daily: 0, weekly: 0 });
});

it('a node whose clock is three hours ahead stops no job on the other, and neither runs a job twice for one time', async () => {
  await using stage = await setStage();
  await stage.pass(2);
  stage.counts();
  const { scene } = stage;
  const world = { ...scene.app.world, clock: { ...scene.clock, now: () => scene.clock.now() + 3 * HOUR } };
  const ofOther: string[] = [];
  const jobs = Object.entries(SCHEDULES).map(([name, schedule]): CronJob => ({
    name,
    schedule,
    run: () => Promise.resolve(ofOther.push(name)),
  }));
  const other = startCron(world, jobs);
  for (let n = 0; n < 16 * 60; n++) {
    scene.clock.advance(1000);
    await Promise.all([stage.cron.idle(), other.idle()]);
    scene.clock.advance(59_000);
    await Promise.all([stage.cron.idle(), other.idle()]);
  }
  await other.stop();
  const { minutely, daily = 0 } = stage.counts();
  expect(minutely).toBe(16 * 60);
  expect(daily).toBeGreaterThanOrEqual(1);
  // It runs at its own time, and once because the run that the other node recorded is in the future.
  expect(daily).toBeLessThanOrEqual(2);
  expect(ofOther.filter((name) => name === 'daily').length).toBeLessThanOrEqual(2);
});

it('a daily job whose minute passed while the process was suspended or late runs once afterwards', async () => {
  await using stage = await setStage({ schedules: { daily: '3 12 * * *', minutely: '* * * * *' } });
  await stage.pass(1);
  stage.counts();
  // The timers of a suspended process fire late, so it never saw the minutes in between.
  stage.scene.clock.step(10 * MINUTE);
  await stage.pass(3);
  expect(stage.counts()).toEqual({ daily: 1, minutely: 3 });
});

it('a daily job whose minute passed while no process ran runs once after the next start', async () => {
  await using scene = await startScene({ roles: ['http'], startAt: BEGIN });
  {
    await using before = await setStage({ scene });
    await before.pass(1);
  }
  scene.clock.advance(3 * DAY);
  await using stage = await setStage({ scene });
  await stage.pass(2);
  expect(stage.counts()).toEqual({ minutely: 2, hourly: 1, daily: 1, weekly: 0 });
});

it('two nodes with correct clocks run each job once in total', async () => {
  await using stage = await setStage();
  await using beside = await setStage({ scene: stage.scene });
  for (let n = 0; n < 20; n++) {
    stage.scene.clock.advance(n % 2 === 0 ? 1000 : 59_000);
    await Promise.all([stage.cron.idle(), beside.cron.idle()]);
  }
  const one = stage.counts();
  const two = beside.counts();
  expect((one['minutely'] ?? 0) + (two['minutely'] ?? 0)).toBe(10);
  expect((one['hourly'] ?? 0) + (two['hourly'] ?? 0)).toBe(1);
});

it('jobs that are due in the same minute start at different seconds', async () => {
  const schedules = Object.fromEntries(Array.from({ length: 25 }, (_, n) => [`job ${n}`, '* * * * *']));
  await using stage = await setStage({ schedules });
  stage.scene.clock.advance(1000);
  await stage.cron.idle();
  for (let second = 0; second < 59; second++) {
    stage.scene.clock.advance(1000);
    await stage.cron.idle();
  }
  const begun = [...stage.runs.values()].flat();
  expect(begun).toHaveLength(25);
  expect(new Set(begun).size).toBeGreaterThanOrEqual(20);
});

it('a running job is not started again, and its missed times are made up for once', async () => {
  await using scene = await startScene({ roles: ['http'], startAt: BEGIN });
  let begun = 0;
  const end = Promise.withResolvers<void>();
  const job: CronJob = { name: 'long', schedule: '* * * * *', run: () => (begun++, end.promise) };
  const cron = startCron(scene.app.world, [job]);
  scene.clock.advance(1000);
  await expect.poll(() => (scene.clock.advance(1), begun)).toBe(1);
  const ticks = vi.spyOn(scene.app.world.db, 'all');
  for (let n = 0; n < 3; n++) {
    scene.clock.advance(MINUTE);
    await expect.poll(() => ticks.mock.calls.length).toBe(n + 1);
  }
  await Promise.all(ticks.mock.results.map(({ value }) => value as Promise<unknown>));
  await nextTurn();
  ticks.mockRestore();
  expect(begun).toBe(1);
  end.resolve();
  await cron.idle();
  scene.clock.advance(MINUTE);
  await cron.idle();
  scene.clock.advance(1);
  await cron.idle();
  expect(begun).toBe(2);
  await cron.stop();
});

it.each([
  ['* * * * *', '2030-03-05T12:00Z', '2030-03-05T11:58Z', '2030-03-05T12:00Z'],
  ['* * * * *', '2030-03-05T12:00Z', '2030-03-05T12:00Z', undefined],
  ['30 3 * * *', '2030-03-05T12:00Z', '2030-03-04T03:30Z', '2030-03-05T03:30Z'],
  ['30 3 * * *', '2030-03-05T03:29Z', '2030-03-04T03:30Z', undefined],
  ['*/20 1,13 * * *', '2030-03-05T12:00Z', '2030-03-01T00:00Z', '2030-03-05T01:40Z'],
  ['0 4 * * MON', '2030-03-05T12:00Z', '2030-01-01T00:00Z', '2030-03-04T04:00Z'],
  ['0 0 L * *', '2030-03-05T12:00Z', '2030-01-01T00:00Z', '2030-02-28T00:00Z'],
  ['0 0 1 1 *', '2030-03-05T12:00Z', '2029-12-31T23:59Z', '2030-01-01T00:00Z'],
])('the schedule %s at %s, after a run at %s, is due for %s', (text, now, after, due) => {
  const minute = (iso: string): number => Date.parse(iso) / MINUTE;
  const schedule = readSchedule(text);
  const found = schedule.lastDue({ after: minute(after), now: minute(now) });
  schedule.end();
  expect(found).toBe(due === undefined ? undefined : minute(due));
});

it('every job in the table has a valid schedule that is due at least once a week', async () => {
  await using scene = await startScene({ roles: ['http'], startAt: BEGIN });
  const now = Math.floor(scene.clock.now() / MINUTE);
  const jobs = cronTable(scene.app.world, {
    doctor: {} as never,
    accept: {} as never,
    node: {} as never,
    database: { examine: () => Promise.reject(new Error('not run here')) },
  });
  expect(jobs.length).toBeGreaterThan(30);
  for (const { name, schedule: text } of jobs) {
    const schedule = readSchedule(text);
    expect(schedule.lastDue({ after: now - (7 * DAY) / MINUTE, now }), name).toBeDefined();
    schedule.end();
  }
});
