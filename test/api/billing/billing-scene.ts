import { closeMonths } from '../../../src/features/billing/close-months.ts';
import type { Config, DeepPartial } from '../../../src/platform/config/index.ts';
import { administerTeam } from '../../../src/tenancy/teams/index.ts';
import { countUsage } from '../../../src/tenancy/usage/index.ts';
import { startScene, type Scene, type SceneOptions, type Team } from '../../rig/scene.ts';

/** A free plan, and two plans with prices. */
export const PLANS = {
  pro: {
    name: 'Pro',
    monthly_price_cents: 2000,
    included_emails: 100,
    overage_per_1000_cents: 40,
    overage_emails: 5000,
  },
  tiny: { name: 'Tiny', monthly_price_cents: 300, included_emails: 10, domain_limit: 1, webhook_endpoint_limit: 0 },
};

/** Starts a scene in the first moments of a month of 30 days, with plans that have prices. */
export const billingScene = (
  billing: DeepPartial<Config['billing']> = {},
  options: SceneOptions = {},
): Promise<Scene> =>
  startScene({
    startAt: '2026-11-01T00:00:00Z',
    roles: ['http'],
    ...options,
    config: { plans: PLANS, billing, ...options.config },
  });

/** Changes the plan as `rasket teams update --plan` does. */
export const givePlan = (scene: Scene, team: Team, plan: string) => administerTeam(scene.app.world, team.id, { plan });

export const send = (scene: Scene, { id: teamId }: Team, count: number) =>
  countUsage(scene.app.world.db, { teamId, kind: 'transactional', at: scene.clock.now(), count });

/** Moves the clock forward to a moment. */
export const until = (scene: Scene, at: string): void => scene.clock.advance(Date.parse(at) - scene.clock.now());

export const closed = (scene: Scene): Promise<number> => closeMonths(scene.app.world);

export const listInvoiceNumbers = async (scene: Scene): Promise<string[]> =>
  (await scene.app.world.db.all<{ number: string }>('select number from invoices order by number')).map(
    ({ number }) => number,
  );

export const fetchInvoices = async (scene: Scene, { key }: Team) =>
  (await scene.api('GET', '/billing/invoices', { key })).body.data as { id: string; month: string; number: string }[];

export async function onlyInvoice(scene: Scene, team: Team) {
  const [first, ...more] = await fetchInvoices(scene, team);
  if (!first || more.length > 0) throw new Error(`there are ${more.length + (first ? 1 : 0)} invoices, not one`);
  return (await scene.api('GET', `/billing/invoices/${first.id}`, { key: team.key })).body;
}
