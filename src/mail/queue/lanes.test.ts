import { expect, it } from 'vitest';
import { LaneScheduler, LANES, laneNumber, type LaneName } from './lanes.ts';

const NOW = 1000;
const LIMIT = 1000;

/**
 * Claims, as the queue does, from lanes with this many due deliveries, until the number of claims is reached or a pass
 * ends.
 */
function claimFrom(scheduler: LaneScheduler, due: Partial<Record<LaneName, number>>, claims: number, wakes = false) {
  const taken: [LaneName, number][] = [];
  for (let n = 0; n < claims; n++) {
    const { lane } = scheduler;
    const name = LANES[lane];
    const quota = scheduler.quota({ limit: LIMIT, isThrottled: false });
    const count = Math.min(quota, due[name] ?? 0);
    due[name] = (due[name] ?? 0) - count;
    taken.push([name, count]);
    const claim = { lane, due: count, begun: count, isMore: count >= quota };
    if (!scheduler.goOn(claim, { now: NOW, isThrottled: false, startsOver: wakes })) break;
  }
  return taken;
}

/** Makes a scheduler that knows which lanes have something due. */
function createScheduler(due: Partial<Record<LaneName, number>>): LaneScheduler {
  const scheduler = new LaneScheduler();
  for (const name of LANES) scheduler.expectAt(laneNumber(name), due[name] ? NOW : undefined);
  return scheduler;
}

const sumTaken = (taken: [LaneName, number][], name: LaneName): number =>
  taken.reduce((sum, [of, count]) => sum + (of === name ? count : 0), 0);

it('each round of claims takes from the first lane, then from each later lane that has something due', () => {
  const due = { transactional: 5, bulk: 5, retrying: 5, retrying_bulk: 5 };
  const taken = claimFrom(createScheduler(due), due, 20);
  expect(taken.map(([name]) => name).slice(0, 2)).toEqual(['transactional', 'bulk']);
  expect(due.transactional + due.bulk).toBe(0);
});

it('a lane with nothing due is not queried', () => {
  const due = { transactional: 5, retrying_bulk: 0 };
  expect(claimFrom(createScheduler(due), due, 20)).toEqual([['transactional', 5]]);
});

it('a delivery in the first lane waits for one claim of a bulk backlog at most', () => {
  const due = { bulk: 10_000, retrying: 300 };
  const taken = claimFrom(createScheduler(due), due, 60).map(([name]) => name);
  const bulk = taken.flatMap((name, at) => (name === 'bulk' ? [at] : []));
  for (const at of bulk.slice(0, -1)) expect(taken.slice(at, at + 3)).toContain('transactional');
});

it('a lane that the queue has no room for ends no turn of the other lanes', () => {
  const due: Partial<Record<LaneName, number>> = { transactional: 500, bulk: 1000, retrying: 40 };
  const scheduler = createScheduler(due);
  const taken: LaneName[] = [];
  for (let claims = 0, goesOn = true; goesOn && claims < 50; claims++) {
    const { lane } = scheduler;
    const name = LANES[lane];
    if (name === 'bulk') {
      goesOn = scheduler.skip({ now: NOW, isThrottled: false });
      continue;
    }
    const quota = scheduler.quota({ limit: LIMIT, isThrottled: false });
    const left = due[name] ?? 0;
    const count = Math.min(quota, left);
    due[name] = left - count;
    if (count > 0) taken.push(name);
    const claim = { lane, due: count, begun: count, isMore: count >= quota };
    goesOn = scheduler.goOn(claim, { now: NOW, isThrottled: false, startsOver: false });
  }
  expect(due.transactional).toBe(0);
  expect(taken).toContain('retrying');
  expect(scheduler.lane).toBe(laneNumber('transactional'));
});

it.each([false, true])(
  'each lane gets its share when the lanes before it have backlogs (woken all the time: %s)',
  (wakes) => {
    const due = { transactional: 1e6, bulk: 1e6, retrying: 1e6, retrying_bulk: 1e6 };
    const taken = claimFrom(createScheduler(due), due, 2000, wakes);
    const all = taken.reduce((sum, [, count]) => sum + count, 0);
    const share = (name: LaneName): number => sumTaken(taken, name) / all;
    expect(share('transactional')).toBeGreaterThan(0.7);
    expect(share('bulk')).toBeGreaterThan(0.1);
    expect(share('retrying')).toBeGreaterThan(0.02);
    expect(share('retrying')).toBeLessThan(0.06);
    expect(share('retrying_bulk')).toBeGreaterThan(0.01);
  },
);

it('retries take everything when nothing else is due, and nothing right after first attempts started', () => {
  const alone = { retrying: 100 };
  const scheduler = createScheduler(alone);
  claimFrom(scheduler, alone, 20);
  expect(alone.retrying).toBe(0);
  const beside = { transactional: 40, retrying: 100 };
  const other = createScheduler(beside);
  claimFrom(other, beside, 20);
  expect(beside).toEqual({ transactional: 0, retrying: 98 });
});

it('a first attempt in flight keeps retries waiting until it ends', () => {
  const scheduler = createScheduler({ retrying: 1 });
  scheduler.begin(laneNumber('bulk'));
  expect(scheduler.mayRetry(NOW)).toBe(false);
  scheduler.end(laneNumber('bulk'));
  expect(scheduler.mayRetry(NOW)).toBe(true);
  expect(scheduler.mayRetry(NOW - 1)).toBe(false);
});
