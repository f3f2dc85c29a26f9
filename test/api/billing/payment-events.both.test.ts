import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { forgetPaymentEvents, recheckSubscriptions } from '../../../src/features/billing/subscriptions.ts';
import { switchOffRestored, setSending } from '../../../src/tenancy/instance/index.ts';
import { startPaymentProvider, type PaymentProviderRig, type SentEvent } from '../../rig/payment-provider.ts';
import { createPeople } from '../../rig/people.ts';
import type { Scene, Team } from '../../rig/scene.ts';
import { billingScene, givePlan } from './billing-scene.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

let rig: PaymentProviderRig;
let scene: Scene;
let team: Team;
beforeAll(async () => {
  rig = await startPaymentProvider();
  scene = await billingScene({ self_service: true }, { payments: rig.provider });
});
afterAll(async () => {
  await scene.close();
  await rig[Symbol.asyncDispose]();
});
beforeEach(async () => {
  team = await scene.team();
  pays('pro');
  rig.asked = 0;
});
afterEach(() => {
  rig.isDown = false;
  rig.subscriptions.clear();
});

/** Sets the provider's state of the subscription. */
function pays(plan: string, more: { status?: 'active' | 'past_due' | 'canceled'; days?: number } = {}): void {
  const { status = 'active', days = 30 } = more;
  const now = scene.clock.now();
  rig.subscriptions.set(team.id, { status, plan, periodStart: now, periodEnd: now + days * DAY_MS });
}
const signed = (options: { at?: number; id?: string; secret?: string; data?: object } = {}, id?: string) =>
  rig.event(id ?? team.id, { at: scene.clock.now(), ...options });
async function post({ body, headers }: SentEvent) {
  const answer = await fetch(`${scene.url}/billing/events`, {
    method: 'POST',
    headers: { 'user-agent': 'provider/1', ...headers },
    body,
  });
  return { status: answer.status, body: (await answer.json()) as { name?: string; message?: string } };
}
const fetchPlan = async ({ key } = team): Promise<string> =>
  (await scene.api('GET', '/billing', { key })).body.plan.code as string;
const planChanges = async (): Promise<unknown[]> => {
  const { data } = (await scene.api('GET', '/audit?limit=100', { key: team.key })).body;
  return data.filter(({ action }: { action: string }) => action === 'billing.plan_changed');
};
const missed = async () => {
  const token = await scene.operator(`Ada ${Math.random()}`);
  const { findings } = (await scene.api('GET', '/operator/findings', { key: token })).body;
  return findings.filter(({ code }: { code: string }) => code === 'payment_events_missing');
};

describe('POST /billing/events', () => {
  it('reads the state from the provider, and the plan follows', async () => {
    expect(await post(signed())).toEqual({ status: 200, body: { object: 'payment_event', received: true } });
    const { body } = await scene.api('GET', '/billing', { key: team.key });
    expect(body).toMatchObject({
      plan: { code: 'pro' },
      payment_provider: 'example',
      subscription: { status: 'active', current_period_end: new Date(scene.clock.now() + 30 * DAY_MS).toISOString() },
    });
  });

  it('ignores everything else in the event', async () => {
    pays('tiny');
    await post(signed({ data: { plan: 'pro', status: 'active' } }));
    expect(await fetchPlan()).toBe('tiny');
  });

  it('processes an event once, however often it arrives', async () => {
    const event = signed();
    const answers = await Promise.all([post(event), post(event)]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    const { asked } = rig;
    pays('tiny');
    expect((await post(event)).status).toBe(200);
    expect([rig.asked, await fetchPlan()]).toEqual([asked, 'pro']);
    // It is signed again, as providers do when they send it again.
    const { id } = JSON.parse(event.body) as { id: string };
    scene.clock.advance(60_000);
    expect((await post(signed({ id }))).status).toBe(200);
    expect(rig.asked).toBe(asked);
  });

  it('asks for an event again that it could not process, and processes it then', async () => {
    const event = signed();
    rig.isDown = true;
    expect(await post(event)).toMatchObject({ status: 503, body: { name: 'service_unavailable' } });
    expect(await fetchPlan()).toBe('standard');
    rig.isDown = false;
    expect((await post(event)).status).toBe(200);
    expect(await fetchPlan()).toBe('pro');
  });

  const refused: { why: string; event: () => SentEvent }[] = [
    { why: 'without a signature', event: () => ({ ...signed(), headers: {} }) },
    { why: 'signed by somebody else', event: () => signed({ secret: 'whsec_of_another_account' }) },
    { why: 'with one byte changed', event: () => ({ ...signed(), body: signed().body.replace('updated', 'updateD') }) },
    { why: 'of the same JSON in other bytes', event: () => compact(signed()) },
    { why: 'signed more than five minutes ago', event: () => signed({ at: scene.clock.now() - 300_001 }) },
    { why: 'signed in the future', event: () => signed({ at: scene.clock.now() + 300_001 }) },
    { why: 'without an id', event: () => signed({ id: '' }) },
    { why: 'with an endless id', event: () => signed({ id: 'x'.repeat(256) }) },
  ];
  it.each(refused)('refuses an event $why without asking the provider', async ({ event }) => {
    const { status, body } = await post(event());
    expect([status, body.name, body.message]).toEqual([
      400,
      'validation_error',
      expect.stringContaining('The event was refused.'),
    ]);
    expect([rig.asked, await fetchPlan()]).toEqual([0, 'standard']);
  });

  it.each(['019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e77', 'cus_1', "'; drop table teams"])(
    'accepts an event about %s, which is no team, without asking the provider',
    async (id) => {
      expect((await post(signed({}, id))).status).toBe(200);
      expect(rig.asked).toBe(0);
    },
  );

  it('ends the plan of a subscription that the provider no longer knows', async () => {
    await post(signed());
    expect(await fetchPlan()).toBe('pro');
    rig.subscriptions.clear();
    await post(signed());
    expect(await fetchPlan()).toBe('standard');
    const { body } = await scene.api('GET', '/billing', { key: team.key });
    expect(body.subscription).toMatchObject({ status: 'canceled' });
    // A new subscription is valid again.
    pays('tiny');
    await post(signed());
    expect(await fetchPlan()).toBe('tiny');
  });

  it('keeps the plan that the operator set for a team the provider never knew', async () => {
    await givePlan(scene, team, 'pro');
    rig.subscriptions.clear();
    expect((await post(signed())).status).toBe(200);
    expect(await fetchPlan()).toBe('pro');
    expect(await planChanges()).toEqual([]);
  });

  it('writes one audit entry when the plan changes, with both plans and the provider', async () => {
    await post(signed());
    await post(signed());
    pays('pro', { status: 'past_due' });
    await post(signed());
    const change = (details: object) => ({
      action: 'billing.plan_changed',
      subject_id: team.id,
      address: null,
      actor: { kind: 'system', id: null, name: 'payment provider example' },
      details,
    });
    const up = change({ plan: 'pro', plan_before: 'standard', subscription: 'active' });
    expect(await planChanges()).toMatchObject([up]);
    pays('pro', { status: 'canceled' });
    await Promise.all([post(signed()), post(signed()), post(signed())]);
    const down = change({ plan: 'standard', plan_before: 'pro', subscription: 'canceled' });
    expect(await planChanges()).toMatchObject([down, up]);
  });

  it('returns 501 without a provider', async () => {
    await using other = await billingScene();
    const answer = await other.api('POST', '/billing/events', { body: { id: 'evt_1' } });
    expect([answer.status, answer.body.name]).toEqual([501, 'not_implemented']);
  });

  it('deletes events after thirty days', async () => {
    await post(signed());
    expect(await forgetPaymentEvents(scene.app.world)).toBe(0);
    scene.clock.advance(31 * DAY_MS);
    expect(await forgetPaymentEvents(scene.app.world)).toBeGreaterThan(0);
    expect(await scene.app.world.db.all('select event_id from payment_events')).toEqual([]);
  });
});

it('nobody can choose a plan without paying for it when a provider is configured', async () => {
  const owner = await createPeople(scene).person({ team, role: 'owner' });
  const answer = await owner.call('POST', '/billing/plan', { plan: 'pro' });
  expect([answer.status, answer.body.name]).toEqual([403, 'invalid_permission']);
  expect(answer.body.message).toContain('POST /billing/checkout');
  expect((await owner.call('POST', '/billing/checkout', { plan: 'pro' })).body.url).toBe(
    `https://pay.example/checkout/${team.id}/pro`,
  );
  expect(await fetchPlan()).toBe('standard');
});

describe('payment events that do not arrive', () => {
  // Subscriptions of other tests have ended.
  beforeEach(() => scene.app.world.db.run("update team_subscriptions set status = 'canceled', missed_since = null"));
  const recheck = () => recheckSubscriptions(scene.app.world, rig.provider);

  it('are detected an hour after the end of a period: the plan is corrected, with a finding until an event arrives', async () => {
    pays('pro', { days: 1 });
    await post(signed());
    scene.clock.advance(DAY_MS);
    pays('tiny');
    expect(await recheck()).toBe(0);
    expect(await fetchPlan()).toBe('pro');
    scene.clock.advance(HOUR_MS);
    const since = new Date(scene.clock.now()).toISOString();
    expect(await recheck()).toBe(1);
    expect(await fetchPlan()).toBe('tiny');
    expect(await missed()).toEqual([
      expect.objectContaining({ severity: 'warning', count: 1, subjects: [`team ${team.id}`], since }),
    ]);
    const told = (await scene.api('GET', '/findings', { key: (await scene.team()).key })).text;
    expect(told).toContain('payment_events_missing');
    expect(told).not.toContain(team.id);
    expect(await recheck()).toBe(0);
    await post(signed());
    expect(await missed()).toEqual([]);
  });

  it('are not reported for an unchanged subscription, which is checked once an hour', async () => {
    pays('pro', { days: 1 });
    await post(signed());
    scene.clock.advance(DAY_MS + HOUR_MS);
    expect([await recheck(), await recheck(), (await missed()).length]).toEqual([1, 0, 0]);
    scene.clock.advance(HOUR_MS);
    expect(await recheck()).toBe(1);
    pays('pro', { status: 'canceled' });
    await post(signed());
    scene.clock.advance(40 * DAY_MS);
    expect(await recheck()).toBe(0);
  });

  it('do not block other checks while the provider is down, and a restored copy checks nothing', async () => {
    pays('pro', { days: 1 });
    await post(signed());
    scene.clock.advance(DAY_MS + HOUR_MS);
    const { db, clock } = scene.app.world;
    await db.tx((tx) => switchOffRestored(tx, { madeAt: undefined, at: clock.now() }));
    expect(await recheck()).toBe(0);
    await setSending(scene.app.world, { isOn: true });
    rig.isDown = true;
    expect(await recheck()).toBe(1);
    expect(await fetchPlan()).toBe('pro');
  });
});

const compact = ({ body, headers }: SentEvent): SentEvent => ({ headers, body: JSON.stringify(JSON.parse(body)) });
