import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { administerTeam } from '../../../src/tenancy/teams/index.ts';
import { countUsage } from '../../../src/tenancy/usage/index.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

const DAY = 24 * 3_600_000;

let scene: Scene;
beforeAll(async () => {
  scene = await startScene({
    config: {
      plans: { small: { name: 'Small', daily_cap: 7, included_emails: 70, domain_limit: 3, contact_limit: 5 } },
    },
  });
});
afterAll(() => scene.close());

let team: Team;
beforeEach(async () => {
  team = await scene.team();
});

const usage = async (key = team.key) => (await scene.api('GET', '/usage', { key })).body;
const count = (kind: 'transactional' | 'marketing' | 'received', n: number, at = scene.clock.now()) =>
  scene.app.world.db.tx((tx) => countUsage(tx, { teamId: team.id, kind, at, count: n }));

describe('GET /usage', () => {
  it('returns zeros for a new team, with the limits of its plan', async () => {
    const now = new Date(scene.clock.now());
    const day = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate() + 1)).toISOString();
    const month = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1)).toISOString();
    expect(await usage()).toEqual({
      object: 'usage',
      emails: {
        daily: { used: 0, limit: null, sent: 0, received: 0, resets_at: day },
        monthly: { used: 0, limit: 1_000_000, sent: 0, received: 0, resets_at: month },
      },
      contacts: { used: 0, limit: 1_000_000 },
      segments: { used: 0, limit: null },
      broadcasts: { used: 0, limit: null },
      ai_credits: { used: 0, limit: 1000, next_increase_at: month },
      automation_runs: { used: 0, limit: null, resets_at: month },
      domains: { used: 0, limit: 100 },
      received_storage: { used: 0, limit: 10 * 1024 ** 3 },
      rate_limit: { limit: 100_000, duration: '1s' },
    });
  });

  it('follows the plan at once', async () => {
    await administerTeam(scene.app.world, team.id, { plan: 'small' });
    expect(await usage()).toMatchObject({
      emails: { daily: { limit: 7 }, monthly: { limit: 70 } },
      contacts: { limit: 5 },
      domains: { limit: 3 },
    });
  });

  it('counts accepted emails, and nothing of another team', async () => {
    const domain = await team.domain();
    for (const to of ['a@example.org', 'b@example.org']) {
      const body = { from: `a@${domain.name}`, to, subject: 'Hello', text: 'Hello' };
      await scene.api('POST', '/emails', { key: team.key, body });
    }
    const counted = { used: 2, sent: 2, received: 0 };
    expect(await usage()).toMatchObject({ emails: { daily: counted, monthly: counted }, domains: { used: 1 } });
    const stranger = await scene.team();
    expect(await usage(stranger.key)).toMatchObject({ emails: { monthly: { used: 0 } }, domains: { used: 0 } });
  });

  it('counts marketing mail as sent, but neither it nor received mail toward the limit', async () => {
    await count('transactional', 3);
    await count('marketing', 40);
    await count('received', 5);
    const counted = { used: 3, sent: 43, received: 5 };
    expect(await usage()).toMatchObject({ emails: { daily: counted, monthly: counted } });
  });

  it('starts again exactly at the announced time', async () => {
    await count('transactional', 3);
    const { daily, monthly } = (await usage()).emails;
    const [day, month] = [daily, monthly].map(({ resets_at: at }) => Date.parse(at as string)) as [number, number];
    // Mail of the months before and after does not count this month.
    await count('transactional', 100, month);
    await count('transactional', 100, Date.parse(`${new Date(month - DAY).toISOString().slice(0, 7)}-01T00:00Z`) - 1);
    const readAt = async (at: number) => {
      scene.clock.advance(at - scene.clock.now());
      return (await usage()).emails;
    };
    // Both end together on the last day of a month.
    const isLastDay = day === month;
    expect(await readAt(day - 1)).toMatchObject({ daily: { used: 3 }, monthly: { used: 3 } });
    expect((await readAt(day)).daily.used).toBe(isLastDay ? 100 : 0);
    if (!isLastDay) expect((await readAt(month - 1)).monthly.used).toBe(3);
    expect(await readAt(month)).toMatchObject({ daily: { used: 100 }, monthly: { used: 100 } });
  });

  it('is refused for a sending key', async () => {
    const key = await team.sendingKey();
    expect(await scene.api('GET', '/usage', { key })).toMatchObject({
      status: 401,
      body: { name: 'restricted_api_key' },
    });
  });
});
