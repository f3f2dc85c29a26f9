import { createLeasedLoop, createTurns, leasesOf, type LeasedLoop } from '../../../platform/work-loop/index.ts';
import type { World } from '../../../platform/world/index.ts';
import { claimDueRuns, nextRunAt, type RunRow } from '../automation-runs/index.ts';
import { createSendSwitch } from '../../../tenancy/instance/index.ts';
import { createCarryRun } from './carry-run.ts';

export type Automations = LeasedLoop;

/**
 * The work loop of automations, woken by the commit that begins a run: each run that is due is claimed with a lease and
 * carried step by step, until it has to wait or is over. The teams take turns. In a restored copy nothing is carried until an
 * operator has switched sending on: the original may do it. `wakeQueue` is called when mail was accepted.
 */
export function createAutomationLoop(world: World, wakeQueue: () => void): Automations {
  const { db, config, ids } = world;
  const { max_at_once: atOnceMax, lease_seconds: leaseSeconds, poll_ms: pollMs } = config.automations;
  const owner = ids.uuid();
  const turns = createTurns();
  const inTurn = (teamIds: readonly string[]): string[] => turns.inTurn(teamIds, (id) => id);
  const sending = createSendSwitch(world);
  return createLeasedLoop<RunRow>(world, {
    ...{ name: 'automations', wakeOn: ['automation_runs', 'instance_settings'], pollMs, atOnceMax },
    // A claim of one run costs nearly what a claim of many does.
    endedPerLook: Math.ceil(atOnceMax / 2),
    describe: ({ id, automation_id: automationId }) => ({ runId: id, automationId }),
    lease: { owner, ms: leaseSeconds * 1000, leases: leasesOf(db, 'automation_runs') },
    async claim({ limit }, lease) {
      const { isOn, isRestored } = await sending();
      if (!isOn && isRestored) return { items: [], left: 'nothing' };
      const items = await db.tx((tx) => claimDueRuns(tx, { ...lease, limit, inTurn }));
      const teams = new Set(items.map((one) => one.team_id));
      turns.took(teams);
      const nextAt = (): Promise<number | undefined> => nextRunAt(db, lease.now);
      return { items, left: items.length === limit || teams.size > 1 ? 'more' : 'nothing', nextAt };
    },
    carry: createCarryRun(world, { owner, wakeQueue }),
  });
}
