import { isPlan, planNamed } from '../../../platform/config/index.ts';
import { firstIdAt } from '../../../platform/ids.ts';
import type { Store } from '../../../platform/store.ts';
import { listTeams } from '../../../tenancy/teams/index.ts';

/** A team, and where the ids of its unexpired data begin. */
export interface Expiry {
  teamId: string;
  /** Everything created before this has expired. */
  beforeId: string;
  beforeMs: number;
}

const DAY_MS = 24 * 3_600_000;

/**
 * Returns the expiry of each team. Elsewhere an unconfigured plan counts as the default one, but removed data does not
 * come back: a plan renamed by mistake must cost no team anything, so it expires nothing and is passed to `onUnknown`.
 */
export async function listExpiries(
  store: Store,
  onUnknown: (teamId: string, plan: string) => void = () => undefined,
): Promise<Expiry[]> {
  const now = store.clock.now();
  return (await listTeams(store.db)).flatMap(({ id: teamId, plan_code: code }) => {
    if (!isPlan(store.config, code)) {
      onUnknown(teamId, code);
      return [];
    }
    const { plan } = planNamed(store.config, code);
    const beforeMs = now - plan.retention_days * DAY_MS;
    return [{ teamId, beforeMs, beforeId: firstIdAt(beforeMs) }];
  });
}
