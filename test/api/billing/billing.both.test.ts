import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { startApp } from '../../../src/app.ts';
import { closeMonths } from '../../../src/features/billing/close-months.ts';
import { createApi } from '../../rig/api.ts';
import { createPeople, type People, type Person } from '../../rig/people.ts';
import type { Scene, Team } from '../../rig/scene.ts';
import { plantWebhook } from '../../rig/webhooks.ts';
import { billingScene, givePlan, onlyInvoice, PLANS, send, until } from './billing-scene.ts';

let scene: Scene;
let people: People;
let team: Team;
beforeAll(async () => {
  scene = await billingScene({ self_service: true });
  people = createPeople(scene);
  team = await scene.team();
});
afterAll(() => scene.close());

const refusal = ({ status, body }: { status: number; body: { name?: string } }) =>
  status < 300 ? `${status}` : `${status} ${body.name}`;

describe('GET /billing', () => {
  it('returns the plan with its prices', async () => {
    const other = await scene.team();
    await givePlan(scene, other, 'pro');
    const plan = { code: 'pro', ...PLANS.pro };
    expect((await scene.api('GET', '/billing', { key: other.key })).body).toEqual({
      object: 'billing',
      plan,
      effective_plan_code: 'pro',
      subscription: null,
      currency: 'EUR',
      time_zone: 'UTC',
      self_service: true,
      payment_provider: 'none',
    });
  });

  it('returns the configured plans', async () => {
    const { body } = await scene.api('GET', '/billing/plans', { key: team.key });
    const plans = body.data.map((plan: { code: string; monthly_price_cents: number }) => [
      plan.code,
      plan.monthly_price_cents,
    ]);
    expect(Object.fromEntries(plans)).toEqual({ standard: 0, pro: 2000, tiny: 300 });
  });

  it.each(['/billing', '/billing/plans', '/billing/invoices'])(
    '%s can be read by admins, not by members',
    async (path) => {
      const admin = await people.person({ team, role: 'admin' });
      const member = await people.person({ team, role: 'member' });
      expect(refusal(await admin.call('GET', path))).toBe('200');
      expect(refusal(await member.call('GET', path))).toBe('403 invalid_permission');
      expect(refusal(await scene.api('GET', path, { key: await team.sendingKey() }))).toBe('401 restricted_api_key');
    },
  );
});

describe('POST /billing/plan', () => {
  const change = (person: Person, plan: string) => person.call('POST', '/billing/plan', { plan });

  it('is allowed to owners if the operator permits it, and takes effect at once', async () => {
    const own = await scene.team();
    const owner = await people.person({ team: own, role: 'owner' });
    expect((await change(owner, 'pro')).body).toMatchObject({ object: 'billing', plan: { code: 'pro' } });
    expect((await scene.api('GET', '/team', { key: own.key })).body.plan.code).toBe('pro');
    const [entry] = (await scene.api('GET', '/audit', { key: own.key })).body.data;
    expect(entry).toMatchObject({ action: 'billing.plan_changed', details: { plan: 'pro' } });
  });

  it('stores no prices in the request log, which viewers can read', async () => {
    const own = await scene.team();
    const owner = await people.person({ team: own, role: 'owner' });
    expect((await change(owner, 'pro')).text).toMatch(/:2000\b/);
    const logged = async (): Promise<{ id: string }> => {
      const { data } = (await scene.api('GET', '/logs?limit=100', { key: own.key })).body;
      const found = data.find((one: { endpoint: string }) => one.endpoint === '/billing/plan');
      expect(found).toBeDefined();
      return found as { id: string };
    };
    const { id } = await vi.waitFor(logged);
    const log = await scene.api('GET', `/logs/${id}`, { key: own.key });
    expect(log.body.response_body).toMatchObject({ redacted: true });
    // This number is in the answer; times and ids may contain these digits too.
    expect(log.text).not.toMatch(/:2000\b/);
  });

  it('is refused for an admin and for a key', async () => {
    const admin = await people.person({ team, role: 'admin' });
    expect(refusal(await change(admin, 'pro'))).toBe('403 invalid_permission');
    const byKey = await scene.api('POST', '/billing/plan', { key: team.key, body: { plan: 'pro' } });
    expect(refusal(byKey)).toBe('403 invalid_permission');
  });

  it('refuses an unknown plan and lists the known ones', async () => {
    const owner = await people.person({ team, role: 'owner' });
    const answer = await change(owner, 'gold');
    expect(refusal(answer)).toBe('422 validation_error');
    expect(answer.body.message).toBe(
      'There is no plan "gold" in the configuration; the plans are standard, pro, tiny.',
    );
  });

  it('refuses a plan below the current usage and says what has to be removed first', async () => {
    const own = await scene.team();
    const owner = await people.person({ team: own, role: 'owner' });
    await own.domain();
    await own.domain();
    await plantWebhook(scene, own);
    await send(scene, own, 12);
    const answer = await change(owner, 'tiny');
    expect(refusal(answer)).toBe('422 validation_error');
    expect(answer.body.message).toBe(
      'The plan Tiny is too small for this team: it has 2 domains, and the plan allows 1: delete 1 first; it has 1 webhook endpoint, and the plan allows 0: delete 1 first; it has 12 emails this month, and the plan allows 10: wait for the next month.',
    );
    expect((await scene.api('GET', '/team', { key: own.key })).body.plan.code).toBe('standard');
  });

  it('is left to the operator unless self_service is on', async () => {
    await using closedScene = await billingScene();
    const own = await closedScene.team();
    const owner = await createPeople(closedScene).person({ team: own, role: 'owner' });
    const answer = await owner.call('POST', '/billing/plan', { plan: 'pro' });
    expect(refusal(answer)).toBe('403 invalid_permission');
    expect(answer.body.message).toMatch(/^Only the operator of this installation can change plans/);
  });
});

it.each([
  ['/billing/checkout', { plan: 'pro' }],
  ['/billing/portal', undefined],
])('POST %s returns 501 with the reason', async (path, body) => {
  const owner = await people.person({ team, role: 'owner' });
  const answer = await owner.call('POST', path, body);
  expect(refusal(answer)).toBe('501 not_implemented');
  expect(answer.body.message).toMatch(/^This installation has no payment provider/);
});

describe('the limits of a billing plan', () => {
  it('allow emails beyond the included ones up to the charged maximum, then return 429', async () => {
    const few = { ...PLANS.pro, included_emails: 1, overage_emails: 1 };
    await using small = await billingScene({}, { config: { plans: { pro: few } } });
    const own = await small.team();
    await givePlan(small, own, 'pro');
    const { name } = await own.domain();
    const body = { from: `a@${name}`, to: 'x@example.org', subject: 'Hello', text: 'It works.' };
    const mail = () => small.api('POST', '/emails', { key: own.key, body });
    expect([(await mail()).status, (await mail()).status]).toEqual([200, 200]);
    const refused = await mail();
    expect(refusal(refused)).toBe('429 monthly_quota_exceeded');
    expect(refused.body.message).toBe(
      'The plan of this team includes 2 emails a month (1 of them charged per 1,000), and 2 are used.',
    );
    const { monthly } = (await small.api('GET', '/usage', { key: own.key })).body.emails;
    expect(monthly).toMatchObject({ used: 2, limit: 2 });
  });

  it('refuse one domain more than the plan allows with 422', async () => {
    const own = await scene.team();
    await givePlan(scene, own, 'tiny');
    await own.domain();
    const second = await scene.api('POST', '/domains', { key: own.key, body: { name: 'second.example.com' } });
    expect(refusal(second)).toBe('422 validation_error');
  });
});

describe('a plan that was removed from the configuration', () => {
  it('is reported at start-up, still serves and charges its teams, and cannot be chosen', async () => {
    await using first = await billingScene({ self_service: true });
    const own = await first.team();
    const other = await createPeople(first).person({ team: await first.team(), role: 'owner' });
    await givePlan(first, own, 'tiny');
    const { clock, config, log } = first.app.world;
    await first.app.close(0);
    first.log.length = 0;
    const { tiny: _, ...plans } = config.plans;
    const settings = { config: { ...config, plans }, dataDir: first.dataDir, clock, log };
    const app = await startApp({ ...settings, version: '0.0.0-test', roles: ['http'] });
    try {
      const said = first.log.map((line) => JSON.parse(line) as { msg: string }).map(({ msg }) => msg);
      expect(said.filter((line) => line.startsWith('the plan tiny is not in the configuration'))).toHaveLength(1);
      const api = createApi(app.http?.url ?? '');
      const { body } = await api('GET', '/billing', { key: own.key });
      expect(body).toMatchObject({ plan: { code: 'tiny', name: 'Tiny' }, effective_plan_code: 'tiny' });
      expect((await api('GET', '/team', { key: own.key })).body.plan.limits.domain_limit).toBe(1);
      const origin = { ...other.headers, origin: app.http?.url ?? '' };
      const given = await api('POST', '/billing/plan', { headers: origin, body: { plan: 'tiny' } });
      expect(refusal(given)).toBe('422 validation_error');
      until(first, '2026-12-01T01:00:00Z');
      await closeMonths(app.world);
    } finally {
      await app.close(0);
    }
    await first.restart();
    expect(await onlyInvoice(first, own)).toMatchObject({ total_cents: 300 });
  });
});
