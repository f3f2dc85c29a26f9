import type { Executor } from '../../../platform/db/index.ts';
import type { Store } from '../../../platform/store/index.ts';
import { revokeGrantsInTeam } from '../oauth/index.ts';
import { endSsoSessions } from '../../../tenancy/session-rows/index.ts';
import { peopleOfSso } from '../../../tenancy/sso-rows/index.ts';

type Known = Awaited<ReturnType<typeof peopleOfSso>>[number];

/**
 * For those whom the provider does not vouch for any more: the sessions that began through it, and the apps that they let in for
 * the team. Before whom it knows is forgotten.
 */
export async function endWhatSsoBegan(
  tx: Executor,
  { clock }: Pick<Store, 'clock'>,
  teamId: string,
  { isConcerned = () => true, by }: { isConcerned?: (person: Known) => boolean; by: 'user' | 'operator' },
): Promise<void> {
  for (const person of (await peopleOfSso(tx, teamId)).filter(isConcerned)) {
    const userId = person.user_id;
    await endSsoSessions(tx, teamId, userId);
    await revokeGrantsInTeam(tx, { userId, teamId }, { at: clock.now(), reason: by });
  }
}
