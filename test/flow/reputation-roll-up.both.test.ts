// counts of each hour --> a job of the night adds up the hours of old days --> every sum stays as it was
import { afterAll, beforeAll, expect, it } from 'vitest';
import { addReputationCounts, type ReputationCount } from '../../src/mail/reputation/index.ts';
import { startScene, type Scene, type Team } from '../rig/scene.ts';
import { HOUR } from './mail.ts';

const DAY = 24 * HOUR;

let scene: Scene;
let team: Team;
let domain: { id: string; name: string };
beforeAll(async () => {
  scene = await startScene({ startAt: '2026-11-30T05:30:00Z' });
  team = await scene.team('Acme');
  domain = await team.domain('acme.example.com');
});
afterAll(() => scene.close());

async function count(hoursAgo: number, more: Partial<ReputationCount> = {}): Promise<void> {
  const { db, ids, clock } = scene.app.world;
  const one: ReputationCount = {
    source: 'first',
    provider: 'google',
    domainId: domain.id,
    teamId: team.id,
    isMarketing: false,
    outcome: 'accepted',
    cause: '',
    count: 1,
    ...more,
  };
  await db.tx((tx) => addReputationCounts(tx, ids, clock.now() - hoursAgo * HOUR, [one]));
}

const load = (sql: string) => scene.app.world.db.all<Record<string, unknown>>(sql, []);
/** Loads the sums of each day, by everything that is told apart. */
const loadSums = async () =>
  (
    await load(
      `select hour / 24 as day, source, provider, domain_id, team_id, is_marketing, outcome, cause, sum(count) as count
        from reputation_counts group by 1, 2, 3, 4, 5, 6, 7, 8 order by 1, 2, 3, 4, 5, 6, 7, 8`,
    )
  ).map((row) => ({ ...row, day: Number(row['day']), count: Number(row['count']) }));
const runJob = async (): Promise<void> =>
  void (await scene.app.jobs.find(({ name }) => name === 'roll-reputation-counts')?.run(new AbortController().signal));

it('the hours of days that are over are added up, and no sum changes', async () => {
  for (let hoursAgo = 0; hoursAgo < 12 * 24; hoursAgo += 5) {
    await count(hoursAgo, { count: 3 });
    await count(hoursAgo);
    await count(hoursAgo, { outcome: 'deferred', cause: 'rate', isMarketing: true });
    await count(hoursAgo, { source: 'second', provider: '' });
  }
  const before = await loadSums();
  const rows = (await load('select 1 as one from reputation_counts')).length;
  await runJob();
  expect(await loadSums()).toEqual(before);
  const hours = (await load('select distinct hour from reputation_counts')).map(({ hour }) => Number(hour));
  const firstKept = Math.floor((scene.clock.now() - 3 * DAY) / DAY) * 24;
  expect(hours.filter((hour) => hour < firstKept && hour % 24 !== 0)).toEqual([]);
  expect(hours.filter((hour) => hour >= firstKept).length).toBeGreaterThan(12);
  expect((await load('select 1 as one from reputation_counts')).length).toBeLessThan(rows / 2);
  await runJob();
  expect(await loadSums()).toEqual(before);
});

it('counts that are older than 400 days are removed', async () => {
  await count(401 * 24, { source: 'old' });
  await count(399 * 24, { source: 'old' });
  await runJob();
  expect((await loadSums()).filter((row) => 'source' in row && row.source === 'old')).toMatchObject([{ count: 1 }]);
});
