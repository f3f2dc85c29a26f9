import type { Store } from '../../../platform/store.ts';
import { audited } from '../../../tenancy/audit/index.ts';
import { listOwnTeams } from '../sessions/own-teams.store.ts';
import type { UserRow } from '../../../tenancy/users/index.ts';

/** Origin of a request by somebody who has not signed in. */
interface Attempt {
  address: string | null;
  user_agent: string | null;
  request_id: string | null;
}

/** Creates the audit entry of an attempt concerning a person's account, in the log of the person's first team. */
export async function auditAttempt(
  store: Store,
  user: UserRow,
  { address, user_agent, request_id }: Attempt,
  action: string,
): Promise<ReturnType<typeof audited>> {
  const [team] = await listOwnTeams(store.db, user.id);
  return audited(store, {
    action,
    team_id: team?.id ?? null,
    subject_id: user.id,
    actor_kind: 'system',
    actor_id: null,
    actor_name: null,
    address,
    user_agent,
    request_id,
    details: JSON.stringify({ email: user.email }),
  });
}
