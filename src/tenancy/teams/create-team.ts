import { isUniqueViolation } from '../../platform/db/index.ts';
import { refuse } from '../../platform/refusal/index.ts';
import type { Store } from '../../platform/store/index.ts';
import { issueApiKey } from '../api-keys/index.ts';
import { readAdminEmails } from './admin-emails.ts';
import { readTeamName, slugOf } from './team-name.ts';
import { insertTeam } from './teams.store.ts';

export interface NewTeam {
  teamId: string;
  slug: string;
  /** Shown once; only its hash is kept. */
  apiKey: string;
}

/** Makes a team and its first full-access key in one transaction. */
export async function createTeam(
  store: Store,
  input: { name: string; adminEmails?: readonly string[] | undefined },
): Promise<NewTeam> {
  const name = readTeamName(input.name);
  const admins = readAdminEmails(input.adminEmails ?? []);
  const teamId = store.ids.uuid();
  const slug = slugOf(name);
  try {
    return await store.db.tx(async (tx) => {
      await insertTeam(tx, {
        id: teamId,
        name,
        slug,
        risk_state: 'normal',
        plan_code: store.config.team.default_plan,
        created_at: store.clock.now(),
        admin_emails: admins.length === 0 ? null : JSON.stringify(admins),
      });
      const key = await issueApiKey(store, tx, {
        teamId,
        name: 'First key',
        permission: 'full_access',
        domainId: null,
      });
      return { teamId, slug, apiKey: key.token };
    });
  } catch (error) {
    if (!isUniqueViolation(error)) throw error;
    throw refuse('validation_error', {
      status: 422,
      say: `There is a team called ${slug} already; choose another name.`,
    });
  }
}
