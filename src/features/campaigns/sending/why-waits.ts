import type { World } from '../../../platform/world/index.ts';
import type { BroadcastRow, Obstacle } from '../broadcasts/index.ts';
import { maySend } from '../../../mail/domains/index.ts';
import { createSendSwitch } from '../../../tenancy/instance/index.ts';
import { suspendedAmong } from '../../../tenancy/teams/index.ts';
import { isTeamHeld, waitingOfBroadcast } from '../../../mail/queue/index.ts';
import type { Route } from './read-route.ts';

/** Asked before each page: what keeps a broadcast from moving, and passes by itself or by an operator's hand. */
export function createWhyWaits(world: World): (broadcast: BroadcastRow, route: Route) => Promise<Obstacle | undefined> {
  const { db, config } = world;
  // A few pages: a cancel, a hold and a full disk cost little, and the queue never runs dry.
  const queuedMax = config.broadcasts.queued_max;
  const sending = createSendSwitch(world);
  const marketing = createSendSwitch(world, 'sending.marketing');
  return async ({ id, team_id: teamId }, { domain }) => {
    if (!(await sending()).isOn) return 'sending_off';
    if (!(await marketing()).isOn) return 'marketing_off';
    if ((await suspendedAmong(db, [teamId])).length > 0) return 'team_suspended';
    if (await isTeamHeld(db, teamId)) return 'hold';
    if (!maySend(domain)) return 'domain_unverified';
    return (await waitingOfBroadcast(db, id, queuedMax)) < queuedMax ? undefined : 'queue';
  };
}
