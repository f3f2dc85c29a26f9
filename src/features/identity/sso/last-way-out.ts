import { notFound, refuse } from '../../../platform/refusal/index.ts';
import type { Store } from '../../../platform/store/index.ts';
import { stopEnforcing } from '../../../tenancy/sso-rows/index.ts';
import { findNamedTeam, type TeamRow } from '../../../tenancy/teams/index.ts';

/** What the operator does on the machine when no member of a team can sign in any more. The connection stays. */
export async function stopEnforcingSso(store: Store, slugOrId: string): Promise<TeamRow> {
  const team = await findNamedTeam(store.db, slugOrId);
  if (!team) throw notFound(`Team ${JSON.stringify(slugOrId)}`);
  const count = await store.db.tx((tx) => stopEnforcing(tx, team.id, store.clock.now()));
  if (count === 1) return team;
  throw refuse('validation_error', { status: 422, say: `The team ${team.slug} does not enforce single sign-on.` });
}
