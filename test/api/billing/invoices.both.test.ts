import { expect, it } from 'vitest';
import { closeMonths } from '../../../src/features/billing/close-months.ts';
import {
  readSubscription,
  type PaymentProvider,
  type ProviderSubscription,
} from '../../../src/features/billing/subscriptions.ts';
import { startApp } from '../../../src/app.ts';
import { switchOffRestored, setSending } from '../../../src/tenancy/instance/index.ts';
import { administerTeam } from '../../../src/tenancy/teams/index.ts';
import { driver } from '../../rig/database.ts';
import { createPeople } from '../../rig/people.ts';
import {
  billingScene,
  closed,
  givePlan,
  fetchInvoices,
  listInvoiceNumbers,
  onlyInvoice,
  send,
  until,
} from './billing-scene.ts';

it('a month is closed an hour after its end, with a line for the plan and one for the extra emails', async () => {
  await using scene = await billingScene({ issuer: 'Mail Ltd, 1 Example Street' });
  const team = await scene.team('Example Ltd');
  await givePlan(scene, team, 'pro');
  await send(scene, team, 1101);
  until(scene, '2026-12-01T00:59:59.999Z');
  await closed(scene);
  expect(await fetchInvoices(scene, team)).toEqual([]);
  until(scene, '2026-12-01T01:00:00Z');
  await closed(scene);
  const invoice = await onlyInvoice(scene, team);
  const plan = { plan_code: 'pro', plan_name: 'Pro' };
  expect(invoice).toEqual({
    object: 'invoice',
    id: invoice.id,
    number: 'INV-000001',
    issued_at: '2026-12-01T01:00:00.000Z',
    month: '2026-11',
    period_start: '2026-11-01T00:00:00.000Z',
    period_end: '2026-12-01T00:00:00.000Z',
    time_zone: 'UTC',
    issuer: 'Mail Ltd, 1 Example Street',
    billed_to: 'Example Ltd',
    currency: 'EUR',
    total_cents: 2080,
    lines: [
      {
        kind: 'plan',
        ...plan,
        description: 'Pro, 30 of 30 days',
        quantity: 30,
        unit: 'days',
        price_cents: 2000,
        amount_cents: 2000,
      },
      {
        kind: 'overage',
        ...plan,
        description: 'Pro, 1001 emails beyond the included ones, by 1,000',
        quantity: 2,
        unit: 'thousands',
        price_cents: 40,
        amount_cents: 80,
      },
    ],
  });
});

it('the days of each plan are charged separately when the plan changes', async () => {
  await using scene = await billingScene();
  const team = await scene.team();
  await givePlan(scene, team, 'pro');
  until(scene, '2026-11-11T12:00:00Z');
  await givePlan(scene, team, 'tiny');
  until(scene, '2026-11-21T00:00:00Z');
  await givePlan(scene, team, 'standard');
  until(scene, '2026-12-02T00:00:00Z');
  await closed(scene);
  const { lines, total_cents: total } = await onlyInvoice(scene, team);
  expect(
    lines.map((line: { description: string; amount_cents: number }) => [line.description, line.amount_cents]),
  ).toEqual([
    ['Pro, 11 of 30 days', 733],
    ['Tiny, 9 of 30 days', 90],
  ]);
  expect(total).toBe(823);
});

it('a new price applies from the day on which the program starts with it', async () => {
  await using scene = await billingScene();
  const team = await scene.team();
  await givePlan(scene, team, 'pro');
  const { config, log, clock } = scene.app.world;
  const pro = { ...config.plans['pro'], monthly_price_cents: 3000 };
  await scene.app.close(0);
  until(scene, '2026-11-21T08:00:00Z');
  const changed = { ...config, plans: { ...config.plans, pro } } as typeof config;
  const app = await startApp({ config: changed, log, clock, dataDir: scene.dataDir, version: 'test', roles: [] });
  until(scene, '2026-12-01T02:00:00Z');
  await closeMonths(app.world).finally(() => app.close(0));
  await scene.restart();
  const { lines } = await onlyInvoice(scene, team);
  expect(lines.map((line: { quantity: number; amount_cents: number }) => [line.quantity, line.amount_cents])).toEqual([
    [20, 1333],
    [10, 1000],
  ]);
});

it('an issued invoice never changes when prices, plans and names do', async () => {
  await using scene = await billingScene();
  const team = await scene.team('Example Ltd');
  await givePlan(scene, team, 'pro');
  until(scene, '2026-12-01T02:00:00Z');
  await closed(scene);
  const before = JSON.stringify(await onlyInvoice(scene, team));
  await administerTeam(scene.app.world, team.id, { name: 'Other Ltd', plan: 'tiny' });
  scene.clock.advance(-40 * 86_400_000);
  await send(scene, team, 3000);
  scene.clock.advance(40 * 86_400_000);
  const { config } = scene.app.world;
  scene.app.world.config = { ...config, billing: { ...config.billing, currency: 'USD', series: 'NEW' } };
  await closed(scene);
  expect(JSON.stringify(await onlyInvoice(scene, team))).toBe(before);
});

it('closing a month repeatedly and concurrently gives one invoice per team without gaps in the numbers', async () => {
  await using scene = await billingScene();
  const teams = await Promise.all(Array.from({ length: 12 }, () => scene.team()));
  for (const team of teams) await givePlan(scene, team, 'pro');
  until(scene, '2026-12-01T02:00:00Z');
  const { config, log } = scene.app.world;
  // SQLite has one process, so the same one starts twice there.
  const node =
    driver === 'pg'
      ? await startApp({
          config,
          log,
          dataDir: scene.dataDir,
          clock: scene.clock,
          version: 'test',
          roles: ['scheduler'],
        })
      : scene.app;
  try {
    const job = node.jobs.find(({ name }) => name === 'close-billing-months');
    const counts = await Promise.all([closed(scene), job?.run(), closed(scene)]);
    expect(counts.reduce<number>((sum, count) => sum + Number(count), 0)).toBe(12);
  } finally {
    if (node !== scene.app) await node.close(0);
  }
  expect(await closed(scene)).toBe(0);
  const wanted = Array.from({ length: 12 }, (_, index) => `INV-${String(index + 1).padStart(6, '0')}`);
  expect(await listInvoiceNumbers(scene)).toEqual(wanted);
  for (const team of teams) expect(await fetchInvoices(scene, team)).toHaveLength(1);
});

it('an invoice number that was rolled back is used again', async () => {
  await using scene = await billingScene();
  const first = await scene.team();
  const second = await scene.team();
  for (const team of [first, second]) await givePlan(scene, team, 'pro');
  until(scene, '2026-12-01T02:00:00Z');
  const { db } = scene.app.world;
  await db.run(
    `insert into invoices (id, team_id, number, month, content, issued_at)
      values (?, ?, 'INV-000001', 'none', '{}', 0)`,
    [scene.app.world.ids.uuid(), second.id],
  );
  await expect(closed(scene)).rejects.toThrow();
  await db.run("delete from invoices where month = 'none'");
  expect(await closed(scene)).toBe(2);
  expect(await listInvoiceNumbers(scene)).toEqual(['INV-000001', 'INV-000002']);
});

it('a team whose plan has no price gets no invoice, even if the plan gets a price later', async () => {
  await using scene = await billingScene();
  const team = await scene.team();
  until(scene, '2026-12-01T02:00:00Z');
  await closed(scene);
  const { config } = scene.app.world;
  const standard = { ...config.plans['standard'], monthly_price_cents: 100 };
  scene.app.world.config = { ...config, plans: { ...config.plans, standard } } as typeof config;
  expect(await closed(scene)).toBe(0);
  expect(await fetchInvoices(scene, team)).toEqual([]);
});

it('months that passed during downtime are closed one after the other', async () => {
  await using scene = await billingScene();
  const team = await scene.team();
  await givePlan(scene, team, 'pro');
  until(scene, '2027-02-10T00:00:00Z');
  await closed(scene);
  const invoices = await fetchInvoices(scene, team);
  expect(invoices.map(({ month, number }) => `${month} ${number}`)).toEqual([
    '2027-01 INV-000003',
    '2026-12 INV-000002',
    '2026-11 INV-000001',
  ]);
});

it('the month of a time zone is closed when it is over in that zone and in UTC', async () => {
  for (const [zone, at, start] of [
    ['America/New_York', '2026-12-01T06:00:00Z', '2026-11-01T04:00:00.000Z'],
    ['Asia/Tokyo', '2026-12-01T01:00:00Z', '2026-10-31T15:00:00.000Z'],
  ] as const) {
    await using scene = await billingScene({ time_zone: zone }, { startAt: '2026-11-02T00:00:00Z' });
    const team = await scene.team();
    await givePlan(scene, team, 'pro');
    until(scene, at);
    scene.clock.advance(-1);
    expect(await closed(scene)).toBe(0);
    scene.clock.advance(1);
    expect(await closed(scene)).toBe(1);
    expect(await onlyInvoice(scene, team)).toMatchObject({ period_start: start, time_zone: zone });
  }
});

it('a restored copy closes no month until it is confirmed', async () => {
  await using scene = await billingScene();
  const { db, clock } = scene.app.world;
  const team = await scene.team();
  await givePlan(scene, team, 'pro');
  await db.tx((tx) => switchOffRestored(tx, { madeAt: undefined, at: clock.now() }));
  until(scene, '2026-12-01T02:00:00Z');
  expect(await closed(scene)).toBe(0);
  await setSending(scene.app.world, { isOn: true });
  expect(await closed(scene)).toBe(1);
});

it('an invoice is available as CSV and as a printable page, only to its team', async () => {
  await using scene = await billingScene();
  const team = await scene.team('=1+1 <b>"Ltd"</b>');
  await givePlan(scene, team, 'pro');
  until(scene, '2026-12-01T02:00:00Z');
  await closed(scene);
  const { id } = await onlyInvoice(scene, team);
  const file = await scene.api('GET', `/billing/invoices/${id}/csv`, { key: team.key });
  expect(file.headers.get('content-disposition')).toBe('attachment; filename="INV-000001.csv"');
  expect(file.text.split('\r\n')[1]).toBe(
    `INV-000001,2026-12-01T02:00:00.000Z,2026-11-01T00:00:00.000Z,2026-12-01T00:00:00.000Z,"'=1+1 <b>""Ltd""</b>",plan,pro,"Pro, 30 of 30 days",30,days,2000,2000,EUR`,
  );
  const page = await scene.api('GET', `/billing/invoices/${id}/print`, { key: team.key });
  expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
  expect(page.text).toContain('Invoice INV-000001');
  expect(page.text).toContain('=1+1 &lt;b&gt;');
  expect(page.text).toContain('20.00 EUR');
  expect(page.text).toContain('2026-11-01 to 2026-11-30 (UTC)');
  const other = await scene.team();
  for (const path of ['', '/csv', '/print']) {
    const answer = await scene.api('GET', `/billing/invoices/${id}${path}`, { key: other.key });
    expect(answer.status).toBe(404);
  }
});

/** Returns a provider that holds back its answers, so that they come in any order. */
function createProvider(states: { now: ProviderSubscription | undefined }) {
  const waiting: (() => void)[] = [];
  const provider: PaymentProvider = {
    name: 'second',
    checkout: ({ teamId, plan }) => Promise.resolve(`https://pay.example/checkout/${teamId}/${plan}`),
    readEvent: () => Promise.resolve(undefined),
    portal: (teamId) => Promise.resolve(`https://pay.example/portal/${teamId}`),
    fetchSubscription: async () => {
      const answer = states.now;
      const { promise, resolve } = Promise.withResolvers<void>();
      waiting.push(resolve);
      await promise;
      return answer;
    },
  };
  return { provider, waiting };
}

it('a payment provider can supply its own pages, and events in any order end in the provider’s state', async () => {
  await using scene = await billingScene();
  const team = await scene.team();
  const { world } = scene.app;
  const periodStart = Date.parse('2026-11-01T00:00:00Z');
  const periodEnd = Date.parse('2026-12-01T00:00:00Z');
  const states = { now: { status: 'active', plan: 'pro', periodStart, periodEnd } as ProviderSubscription };
  const { provider, waiting } = createProvider(states);
  const asked = async (count: number) => expect.poll(() => waiting.length).toBe(count);
  const first = readSubscription(world, provider, team.id);
  await asked(1);
  states.now = { ...states.now, status: 'past_due', plan: 'tiny' };
  const second = readSubscription(world, provider, team.id);
  await asked(2);
  states.now = { ...states.now, status: 'active' };
  const third = readSubscription(world, provider, team.id);
  await asked(3);
  for (const answer of waiting.toReversed()) answer();
  expect((await Promise.all([first, second, third])).filter(Boolean).length).toBeGreaterThan(0);
  // The last event is sent once more, as providers do.
  const again = readSubscription(world, provider, team.id);
  await asked(4);
  waiting[3]?.();
  await again;
  expect((await scene.api('GET', '/billing', { key: team.key })).body).toMatchObject({
    plan: { code: 'tiny' },
    subscription: { status: 'active', current_period_end: '2026-12-01T00:00:00.000Z' },
  });
  states.now = { ...states.now, status: 'canceled' };
  const last = readSubscription(world, provider, team.id);
  await asked(5);
  waiting[4]?.();
  await last;
  expect((await scene.api('GET', '/team', { key: team.key })).body.plan.code).toBe('standard');
});

it('an answer to an older provider request never replaces a newer one', async () => {
  await using scene = await billingScene();
  const team = await scene.team();
  const states = { now: { status: 'active', plan: 'pro', periodStart: 0, periodEnd: 1 } as ProviderSubscription };
  const { provider, waiting } = createProvider(states);
  const older = readSubscription(scene.app.world, provider, team.id);
  await expect.poll(() => waiting.length).toBe(1);
  states.now = { ...states.now, plan: 'tiny' };
  const newer = readSubscription(scene.app.world, provider, team.id);
  await expect.poll(() => waiting.length).toBe(2);
  waiting[1]?.();
  expect(await newer).toBe(true);
  waiting[0]?.();
  expect(await older).toBe(false);
  expect((await scene.api('GET', '/team', { key: team.key })).body.plan.code).toBe('tiny');
});

it('checkout and portal return the pages of a provider', async () => {
  await using scene = await billingScene();
  const { provider } = createProvider({ now: undefined });
  const { config, log, clock } = scene.app.world;
  const team = await scene.team();
  const owner = await createPeople(scene).person({ team, role: 'owner' });
  await scene.app.close(0);
  const settings = { config, log, clock, dataDir: scene.dataDir, version: 'test', roles: ['http'] as const };
  const app = await startApp({ ...settings, payments: provider });
  try {
    const url = app.http?.url ?? '';
    const post = async (path: string, body?: object) => {
      const headers = { ...owner.headers, origin: url, 'user-agent': 'test', 'content-type': 'application/json' };
      const answer = await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body ?? {}) });
      return (await answer.json()) as { object: string; url: string };
    };
    expect(await post('/billing/checkout', { plan: 'pro' })).toEqual({
      object: 'billing_checkout',
      url: `https://pay.example/checkout/${team.id}/pro`,
    });
    expect((await post('/billing/portal')).url).toBe(`https://pay.example/portal/${team.id}`);
  } finally {
    await app.close(0);
  }
});
